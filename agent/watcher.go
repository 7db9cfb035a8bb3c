package agent

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/podstep/podstep/agent/agentpb"
)

const (
	// A watcher that does not keep up loses events beyond these.
	watcherEvents = 1 << 16
	watcherBytes  = 16 << 20
	// One message to a client holds at most so much.
	batchEvents = 1024
	batchBytes  = 256 << 10
)

// watcher is one client's stream of events.
type watcher struct {
	selector *selector
	steps    map[uint32]bool // nil: all
	node     bool
	history  []kept

	mu      sync.Mutex
	queue   []kept
	out     []kept // what next returned last
	bytes   int
	dropped map[agentpb.Kind]int64
	lastSeq uint64
	ready   chan struct{} // has room for one
}

func (a *Agent) newWatcher(req *agentpb.WatchRequest) (*watcher, error) {
	sel, err := newSelector(req.GetPods())
	if err != nil {
		return nil, err
	}
	w := &watcher{selector: sel, node: req.GetNode(), dropped: map[agentpb.Kind]int64{}, ready: make(chan struct{}, 1)}
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
		return nil, invalid("bad step pattern %q: %v", glob, err)
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
		return nil, invalid("no step is named %q; see podstep steps", glob)
	}
	return ids, nil
}

func (w *watcher) wantsPod(p *pod) bool {
	if p == nil {
		return w.node
	}
	return w.selector.matches(p)
}

func (w *watcher) wantsStep(step uint32) bool { return w.steps == nil || step == 0 || w.steps[step] }

func (w *watcher) wants(e *event) bool {
	if e.kind == agentpb.Kind_DROP {
		return true
	}
	return w.wantsStep(e.step) && w.wantsPod(e.pod)
}

// push queues an event for the client. It is called under journal.out and
// never waits.
func (w *watcher) push(e *event, encoded []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastSeq = e.seq
	full := len(w.queue) >= watcherEvents || w.bytes >= watcherBytes
	if full && e.kind != agentpb.Kind_HOLD && e.kind != agentpb.Kind_RELEASE {
		w.dropped[e.kind]++
		return
	}
	w.queue = append(w.queue, kept{e.seq, e.pod, encoded})
	w.bytes += len(encoded)
}

// flush wakes the client's goroutine if there is something for it.
func (w *watcher) flush() {
	w.mu.Lock()
	any := len(w.queue) > 0
	w.mu.Unlock()
	if any {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// next waits for events and takes those that fit in one message. They are good
// until it is called again.
func (w *watcher) next(ctx context.Context) ([]kept, error) {
	for {
		w.mu.Lock()
		n, size := 0, 0
		for n < len(w.queue) && n < batchEvents && size < batchBytes {
			size += len(w.queue[n].data)
			n++
		}
		if n > 0 {
			out := append(w.out[:0], w.queue[:n]...)
			w.queue = slices.Delete(w.queue, 0, n)
			w.bytes -= size
			if len(w.queue) == 0 {
				out = w.tellDrops(out)
			}
			w.out = out
			w.mu.Unlock()
			return out, nil
		}
		w.mu.Unlock()
		select {
		case <-w.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tellDrops adds an event that tells what this client lost. The caller holds
// mu.
func (w *watcher) tellDrops(out []kept) []kept {
	if len(w.dropped) == 0 {
		return out
	}
	e := event{seq: w.lastSeq, kind: agentpb.Kind_DROP}
	for k, n := range w.dropped {
		e.fields = append(e.fields, number(strings.ToLower(k.String()), n))
	}
	w.dropped = map[agentpb.Kind]int64{}
	return append(out, kept{e.seq, nil, e.appendTo(nil)})
}
