package journal

import (
	"context"
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

// Wanted is what a watcher wants of the events.
type Wanted struct {
	Pods  *pods.Selector
	Steps map[uint32]bool // their ids plus one; nil: all
	// Node: the watcher wants the events that are about no pod, too.
	Node bool
	// History: the watcher wants what the recorder has when it begins. Live: it wants what happens from then on.
	History, Live bool
}

// Watcher is one client's stream of events. One goroutine may read it at a time.
type Watcher struct {
	journal *Journal
	want    Wanted
	own     bool     // is no client's, see Journal.Tap
	history *history // nil: not wanted
	began   uint64
	sent    sentPods

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
	pod  *Pod
	kind agentpb.Kind
	data []byte
}

func (k *kept) size() int { return len(k.data) + keptOverhead }

func newWatcher(want Wanted) *Watcher {
	return &Watcher{want: want, share: watcherBytes, sent: sentPods{}, dropped: map[agentpb.Kind]int64{}, ready: make(chan struct{}, 1)}
}

// Began returns the number of the last event before the watcher: those after it come from Next.
func (w *Watcher) Began() uint64 { return w.began }

// History returns the next events of the history that the watcher wants; nil: there are no more.
func (w *Watcher) History() *agentpb.Batch {
	if w.history == nil {
		return nil
	}
	if events := w.history.read(); len(events) > 0 {
		return w.sent.batch(events)
	}
	return nil
}

// Next waits for events. Its error is that of the context.
func (w *Watcher) Next(ctx context.Context) (*agentpb.Batch, error) {
	events, err := w.next(ctx)
	if err != nil {
		return nil, err
	}
	return w.sent.batch(events), nil
}

// Rest ends the watcher. It returns the events up to a number that Next has not returned.
func (w *Watcher) Rest(until uint64) *agentpb.Batch {
	w.Close()
	var rest []kept
	for events := w.takeBatch(); len(events) > 0; events = w.takeBatch() {
		for _, e := range events {
			if e.seq <= until {
				rest = append(rest, e)
			}
		}
	}
	return w.sent.batch(rest)
}

// Close ends the watcher. It may be called several times.
func (w *Watcher) Close() { w.journal.remove(w) }

func (w *Wanted) wantsPod(p *Pod) bool {
	if p == nil {
		return w.Node
	}
	return p.Is(w.Pods)
}

func (w *Wanted) wantsStep(step uint32) bool { return w.Steps == nil || step == 0 || w.Steps[step] }

func (w *Wanted) wants(e *Event) bool {
	if !w.Live {
		return false
	}
	if e.Kind == agentpb.Kind_DROP || e.reportsState() {
		return true
	}
	return w.wantsStep(e.Step) && w.wantsPod(e.Pod)
}

// push queues an event for the client. It is called under Journal.out and
// never waits.
func (w *Watcher) push(e *Event, encoded []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = moment{e.Seq, e.Wall, e.Mono}
	k := kept{e.Seq, e.Pod, e.Kind, encoded}
	if !w.fits(len(w.queue)+1, w.bytes+k.size(), e.Kind) {
		w.dropped[e.Kind]++
		return
	}
	w.queue = append(w.queue, k)
	w.bytes += k.size()
}

// fits reports whether a queue of so many events and bytes may end with an event
// of that kind. The caller holds mu.
func (w *Watcher) fits(events, bytes int, kind agentpb.Kind) bool {
	if spared(kind) {
		return bytes <= w.share
	}
	return events <= watcherEvents && bytes <= w.share-holdBytes
}

// setShare sets the watcher's share of watchersBytes. If its queue has more, the newest events are dropped, as if they
// had come too late.
func (w *Watcher) setShare(share int) {
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
func (w *Watcher) miss(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = moment{e.Seq, e.Wall, e.Mono}
	w.dropped[e.Kind]++
}

// flush wakes the client's goroutine if there is something for it.
func (w *Watcher) flush() {
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
func (w *Watcher) next(ctx context.Context) ([]kept, error) {
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

func (w *Watcher) takeBatch() []kept {
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
func (w *Watcher) addDrops(out []kept) []kept {
	if len(w.dropped) == 0 {
		return out
	}
	e := Event{Seq: w.last.seq, Wall: w.last.wall, Mono: w.last.mono, Kind: agentpb.Kind_DROP}
	for k, n := range w.dropped {
		e.Fields = append(e.Fields, wire.Number(strings.ToLower(k.String()), n))
	}
	w.dropped = map[agentpb.Kind]int64{}
	return append(out, kept{seq: e.Seq, kind: e.Kind, data: e.appendTo(nil)})
}
