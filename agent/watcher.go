package agent

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/wire"
)

const (
	// maxWatchers bounds the watchers at one time.
	maxWatchers = 16
	// A watcher that does not keep up loses events beyond these.
	watcherEvents = 1 << 16
	watcherBytes  = 16 << 20
	// watchersBytes bounds the queues of all watchers together. Each has an equal share of it, so that a client that
	// does not read costs others nothing.
	watchersBytes = 64 << 20
	// holdBytes is the part of a share that is kept free for events that are spared.
	holdBytes = 256 << 10
	// keptOverhead is what an event takes in a queue besides its bytes.
	keptOverhead = 64
	// One message to a client ends when it has this much.
	batchEvents = 1024
	batchBytes  = 256 << 10
)

// moment is where an event stands in time.
type moment struct {
	seq        uint64
	wall, mono int64
}

func momentOf(h wire.Header) moment { return moment{h.Seq, h.Time, h.Mono} }

// watcher is one client's stream of events.
type watcher struct {
	selector *pods.Selector
	steps    map[uint32]bool // nil: all
	node     bool
	live     bool     // wants what happens, too
	own      bool     // is no client's, see Tap
	history  *history // nil: not wanted
	began    uint64   // seq of the last event before the watcher

	mu      sync.Mutex
	share   int // of watchersBytes
	queue   []kept
	out     []kept // what next returned last
	bytes   int
	dropped map[agentpb.Kind]int64
	last    moment        // of the newest event that was handed to push
	ready   chan struct{} // has room for one
}

// kept is an encoded event.
type kept struct {
	seq  uint64
	pod  *pod
	kind agentpb.Kind
	data []byte
}

func (k *kept) size() int { return len(k.data) + keptOverhead }

func (a *Agent) newWatcher(req *agentpb.WatchRequest) (*watcher, error) {
	sel, err := pods.NewSelector(req.GetPods())
	if err != nil {
		return nil, err
	}
	w := &watcher{selector: sel, node: req.GetNode(), live: !req.GetOnlyHistory(), share: watcherBytes, dropped: map[agentpb.Kind]int64{}, ready: make(chan struct{}, 1)}
	if len(req.GetSteps()) > 0 {
		w.steps = map[uint32]bool{}
		for _, glob := range req.GetSteps() {
			ids, err := a.matchSteps(glob)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				w.steps[uint32(id)+1] = true
			}
		}
	}
	return w, nil
}

// matchSteps returns the ids of the steps that match a glob, or that are of a
// stage if it reads stage:NAME.
func (a *Agent) matchSteps(glob string) ([]int, error) {
	stage, isStage := strings.CutPrefix(glob, "stage:")
	if _, err := path.Match(glob, ""); err != nil {
		return nil, invalid(agentpb.Problem_BAD_STEP_PATTERN, args{"pattern": glob})
	}
	var ids []int
	for i := range a.steps {
		s := &a.steps[i]
		ok, _ := path.Match(glob, s.Name)
		if ok || (isStage && s.Stage == stage) {
			ids = append(ids, i)
		}
	}
	if len(ids) == 0 {
		return nil, invalid(agentpb.Problem_STEP_NOT_FOUND, args{"pattern": glob})
	}
	return ids, nil
}

func (w *watcher) wantsPod(p *pod) bool {
	if p == nil {
		return w.node
	}
	return p.Is(w.selector)
}

func (w *watcher) wantsStep(step uint32) bool { return w.steps == nil || step == 0 || w.steps[step] }

func (w *watcher) wants(e *event) bool {
	if !w.live {
		return false
	}
	if e.kind == agentpb.Kind_DROP || e.reportsState() {
		return true
	}
	return w.wantsStep(e.step) && w.wantsPod(e.pod)
}

// push queues an event for the client. It is called under journal.out and
// never waits.
func (w *watcher) push(e *event, encoded []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = moment{e.seq, e.wall, e.mono}
	k := kept{e.seq, e.pod, e.kind, encoded}
	if !w.fits(len(w.queue)+1, w.bytes+k.size(), e.kind) {
		w.dropped[e.kind]++
		return
	}
	w.queue = append(w.queue, k)
	w.bytes += k.size()
}

// fits reports whether a queue of so many events and bytes may end with an event
// of that kind. The caller holds mu.
func (w *watcher) fits(events, bytes int, kind agentpb.Kind) bool {
	if spared(kind) {
		return bytes <= w.share
	}
	return events <= watcherEvents && bytes <= w.share-holdBytes
}

// setShare sets the watcher's share of watchersBytes. If its queue has more, the newest events are dropped, as if they
// had come too late.
func (w *watcher) setShare(share int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.share = share
	n := len(w.queue)
	for ; n > 0 && !w.fits(n, w.bytes, w.queue[n-1].kind); n-- {
		k := &w.queue[n-1]
		w.bytes -= k.size()
		w.dropped[k.kind]++
	}
	clear(w.queue[n:])
	w.queue = w.queue[:n]
}

// miss counts an event that this client loses to a fault of the agent's own.
func (w *watcher) miss(e *event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = moment{e.seq, e.wall, e.mono}
	w.dropped[e.kind]++
}

// flush wakes the client's goroutine if there is something for it.
func (w *watcher) flush() {
	w.mu.Lock()
	any := len(w.queue) > 0 || len(w.dropped) > 0
	w.mu.Unlock()
	if any {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// next waits for events and returns those that fit in one message. They are valid until next is called again.
func (w *watcher) next(ctx context.Context) ([]kept, error) {
	for {
		if out := w.takeBatch(); len(out) > 0 {
			return out, nil
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *watcher) takeBatch() []kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 0
	for n < len(w.queue) && n < batchEvents && size < batchBytes {
		size += len(w.queue[n].data)
		n++
	}
	clear(w.out)
	w.out = append(w.out[:0], w.queue[:n]...)
	w.queue = slices.Delete(w.queue, 0, n)
	w.bytes -= size + n*keptOverhead
	if len(w.queue) == 0 {
		w.out = w.addDrops(w.out)
		if cap(w.queue) > keptQueue {
			w.queue = nil
		}
	}
	return w.out
}

// addDrops adds an event that reports what this client lost. The caller holds
// mu.
func (w *watcher) addDrops(out []kept) []kept {
	if len(w.dropped) == 0 {
		return out
	}
	e := event{seq: w.last.seq, wall: w.last.wall, mono: w.last.mono, kind: agentpb.Kind_DROP}
	for k, n := range w.dropped {
		e.fields = append(e.fields, number(strings.ToLower(k.String()), n))
	}
	w.dropped = map[agentpb.Kind]int64{}
	return append(out, kept{seq: e.seq, kind: e.kind, data: e.appendTo(nil)})
}
