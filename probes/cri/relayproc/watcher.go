package relayproc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/relay"
)

// lookWithin is how long a call waits until podstep has looked at it. Then it goes on: no one is known to want it
// held.
const lookWithin = time.Second

// watcher reports the kubelet's calls over the link. While it is armed, it makes them wait for a verdict. Without a
// link, or with one whose other side is silent, every call passes.
type watcher struct {
	methods map[string]bool // the methods that are reported; true: with their answers

	mu      sync.Mutex
	link    *link // nil: calls are not reported
	silent  *link // the link that had the reports last and is silent now; nil: none
	wait    bool
	last    uint64
	waiting map[uint64]*waiting
}

// waiting is a call that waits for its verdict.
type waiting struct {
	verdicts chan verdict
	free     chan struct{} // closed when no podstep is there any more to give one
}

// reported is the State of a call that was reported.
type reported struct {
	id   uint64
	to   *link
	held atomic.Int64 // for how long podstep has kept the call after it looked at it
}

func newWatcher(methods, bare []string) *watcher {
	w := &watcher{methods: map[string]bool{}, waiting: map[uint64]*waiting{}}
	for _, m := range methods {
		w.methods[m] = true
	}
	for _, m := range bare {
		w.methods[m] = false
	}
	return w
}

// Wants reports whether a method's calls are reported.
func (w *watcher) Wants(method string) bool {
	_, wanted := w.methods[method]
	return wanted
}

// Request reports the beginning of a call.
func (w *watcher) Request(c *relay.Call, m []byte) func(context.Context) error {
	companion.Mishap("call")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link == nil {
		if w.silent != nil {
			w.silent.Lose()
		}
		return nil
	}
	w.last++
	b := &begin{ID: w.last, Method: c.Method, Began: clock.Of(c.Began), Deadline: clock.Of(c.Deadline), Message: m, Waits: w.wait}
	if !w.link.Post(message{Begin: b}, len(m)) {
		return nil
	}
	r := &reported{id: b.ID, to: w.link}
	c.State = r
	if !w.wait {
		return nil
	}
	k := &waiting{verdicts: make(chan verdict, 2), free: make(chan struct{})}
	w.waiting[b.ID] = k
	w.link.Hasten()
	return func(ctx context.Context) error {
		defer w.forget(b.ID)
		return k.gate(ctx, r)
	}
}

// gate waits for the verdict, as long as a podstep is there to give one.
func (k *waiting) gate(ctx context.Context, r *reported) error {
	late := time.After(lookWithin)
	var looked time.Time
	defer func() {
		if !looked.IsZero() {
			r.held.Store(int64(time.Since(looked)))
		}
	}()
	for {
		select {
		case v := <-k.verdicts:
			if !v.Looked {
				return status.Error(v.Code, v.Message) // nil if it is OK
			}
			late, looked = nil, time.Now()
		case <-late:
			return nil
		case <-k.free:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) forget(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// decide passes on podstep's verdict on a call.
func (w *watcher) decide(v verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.waiting[v.ID]
	if k == nil {
		return // it has gone on
	}
	select {
	case k.verdicts <- v:
	default: // one verdict is enough
	}
}

// Passed makes the link send what was reported.
func (w *watcher) Passed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link != nil {
		w.link.Wake()
	}
}

// End reports how a call ended.
func (w *watcher) End(c *relay.Call, answer []byte, st *status.Status, at time.Time) {
	if r, ok := c.State.(*reported); ok {
		if !w.methods[c.Method] {
			answer = nil
		}
		e := &end{ID: r.id, Answer: answer, None: answer == nil, Code: st.Code(), Message: st.Message(), At: clock.Of(at)}
		// If there is no room, the end goes without the answer: there are no more ends than calls under way.
		r.to.Follow(message{End: e}, len(answer), func(*message) { e.Answer, e.None = nil, true })
	}
}

// arm makes calls wait for a verdict, or not wait any more.
func (w *watcher) arm(wait bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait = wait
}

// use makes l the link that gets reports from now on; nil is none. Calls that wait for the one before go on.
func (w *watcher) use(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link == l {
		return
	}
	w.silent = nil
	w.leave()
	w.link, w.wait = l, false
}

// setSilent is called when the podstep that gets the reports falls silent, or speaks again. Meanwhile calls go on,
// and are counted as lost.
func (w *watcher) setSilent(silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case silent && w.link != nil:
		w.silent, w.link = w.link, nil
		w.leave()
	case !silent && w.silent != nil:
		w.link, w.silent = w.silent, nil
	}
}

// leave lets all waiting calls go on. The caller holds mu.
func (w *watcher) leave() {
	for id, k := range w.waiting {
		close(k.free)
		delete(w.waiting, id)
	}
}
