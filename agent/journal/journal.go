package journal

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

const (
	// linger is how long an event waits for more to come. No person notices it.
	linger = 5 * time.Millisecond
	// sharedChunk is how much memory is allocated at once for the events that watchers share, in bytes.
	sharedChunk = 64 << 10
)

// Options are what a journal needs.
type Options struct {
	// QueueEvents bounds the queue between the kubelet's goroutines and the journal's own.
	QueueEvents int
	// RecorderBytes bounds the flight recorder in memory.
	RecorderBytes int64
	// Clock returns the wall clock, in unix nanoseconds, and the nanoseconds since the agent began.
	Clock func() (wall, mono int64)
	// Verdicts are shown each event before any watcher is sent it.
	Verdicts *Verdicts
	// PodSeen is called once, at the first event about a pod, before any watcher is sent the event; nil: never.
	PodSeen func()
	// Called is called with each event, once it was handed on; nil: never. It may put events, and must not wait. It gets a
	// copy: a pointer would cost each event an allocation.
	Called func(Event)
	// Forget drops pods that have long been gone, and reports whether there will be more to drop later; nil: none is ever
	// dropped.
	Forget func(now int64) (more bool)
}

// Journal numbers events and takes them from the kubelet's goroutines to its own. Put is all that the kubelet waits for:
// a lock and a copy.
type Journal struct {
	mu      sync.Mutex
	wake    sync.Cond
	queue   queue
	spare   queue
	limit   int
	clock   func() (wall, mono int64)
	seq     uint64
	dropped [agentpb.Kind_NOTE + 1]uint64 // since the last drop event
	lost    map[string]uint64             // in all, by kind
	// dropping: something is in dropped.
	dropping bool
	closed   bool
	// doneSeq is the number of the last event that was kept. waiting are the callers that wait for one to be kept.
	doneSeq  uint64
	waiting  []waiter
	sweeps   *time.Timer // until the next sweep; nil: none is to come
	sweepDue bool

	// out is held while events are kept and handed on, so that a new watcher sees each event once: from the recorder or
	// live.
	out      sync.Mutex
	recorder *recorder
	verdicts *Verdicts
	watchers map[*Watcher]struct{}
	live     atomic.Int32 // how many clients are sent events as they come
	shared   chunk        // the events in the watchers' queues
	blocks   chunk        // compressed stories
	done     chan struct{}
	podSeen  func() // nil: it has been called
	called   func(Event)
	forget   func(now int64) (more bool)
	buf      []byte // the event that is being handed on
	handed   uint64 // seq of the event that was handed on last; guarded by out
}

// Start makes a journal and starts its goroutine. Close ends it.
func Start(o Options) *Journal {
	j := newJournal(o)
	hook.Go(j.run)
	return j
}

func newJournal(o Options) *Journal {
	j := &Journal{
		limit: o.QueueEvents, clock: o.Clock, recorder: newRecorder(o.RecorderBytes), verdicts: o.Verdicts,
		podSeen: o.PodSeen, called: o.Called, forget: o.Forget,
		watchers: map[*Watcher]struct{}{}, lost: map[string]uint64{}, done: make(chan struct{}),
		shared: chunk{size: sharedChunk}, blocks: chunk{size: packChunk},
	}
	j.wake.L = &j.mu
	return j
}

// Put queues an event, with the current time if it has none. When the queue is full, Put drops and counts the event.
// For spared events the queue has twice as much room.
//
// Put returns the event's number, or 0 if it dropped the event.
func (j *Journal) Put(e Event) uint64 { return j.PutWire(&e, nil) }

// PutWire is Put for an event that has more fields, which it copies.
func (j *Journal) PutWire(e *Event, more values.Fields) uint64 {
	if e.Wall == 0 {
		e.Wall, e.Mono = j.clock()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0
	}
	limit, room := j.limit, maxQueueBytes
	if spared(e.Kind) {
		limit, room = 2*limit, 2*room
	}
	if j.queue.len() >= limit || len(j.queue.fields) >= room {
		j.drop(e.Kind, 1)
		return 0
	}
	j.seq++
	e.Seq = j.seq
	if e.Pod != nil {
		e.Pod.seq = e.Seq
	}
	j.queue.add(e, more)
	if j.queue.len() == 1 {
		j.wake.Signal()
	}
	return e.Seq
}

// LastOf returns the number of the last event about a pod that was put.
func (j *Journal) LastOf(p *Pod) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return p.seq
}

// Last returns the number of the last event that was put.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// spared reports whether an event of that kind still finds room when others are dropped. Spared events say what podstep
// did to a pod, or how much was lost. There are few of them.
func spared(k agentpb.Kind) bool {
	switch k {
	case agentpb.Kind_HOLD, agentpb.Kind_RELEASE, agentpb.Kind_FAULT, agentpb.Kind_DROP:
		return true
	}
	return false
}

// drop counts lost events, and makes run publish a drop event. The caller holds mu.
func (j *Journal) drop(k agentpb.Kind, n uint64) {
	j.dropped[k] += n
	j.dropping = true
	j.wake.Signal()
}

// Lose counts calls of which there will be neither enter nor exit.
func (j *Journal) Lose(calls int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop(agentpb.Kind_ENTER, uint64(calls))
	j.drop(agentpb.Kind_EXIT, uint64(calls))
}

// Close ends the journal, once all events that were put are kept.
func (j *Journal) Close() {
	j.mu.Lock()
	j.closed = true
	if j.sweeps != nil {
		j.sweeps.Stop()
	}
	j.wake.Signal()
	j.mu.Unlock()
	<-j.done
}

// takeBatch waits for events and takes them all. It waits a moment longer for more to come: a pod's steps follow each
// other closely, and waking the agent and every client for each of them costs the machine more than the steps' events
// do. It returns false when the journal is closed and empty.
func (j *Journal) takeBatch() (batch queue, open bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.queue.len() == 0 && !j.dropping && !j.sweepDue && !j.closed {
		j.wake.Wait()
	}
	if j.queue.len() < j.limit/8 && !j.closed {
		j.mu.Unlock()
		time.Sleep(linger)
		j.mu.Lock()
	}
	batch, j.queue, j.spare = j.queue, j.spare, queue{}
	if drop, any := j.dropEvent(); any {
		batch.add(&drop, nil)
	}
	return batch, batch.len() > 0 || !j.closed
}

// dropEvent returns an event that counts what was dropped since the last one; false: nothing was. The caller holds mu.
func (j *Journal) dropEvent() (Event, bool) {
	e := Event{Kind: agentpb.Kind_DROP}
	j.dropping = false
	for k, n := range j.dropped {
		if n > 0 {
			kind := strings.ToLower(agentpb.Kind(k).String())
			e.Fields = append(e.Fields, wire.Number(kind, int64(n)))
			j.lost[kind] += n
		}
	}
	if e.Fields == nil {
		return e, false
	}
	j.dropped = [agentpb.Kind_NOTE + 1]uint64{}
	j.seq++
	e.Seq = j.seq
	e.Wall, e.Mono = j.clock()
	return e, true
}

// run is the agent's goroutine. A panic costs at worst the rest of its turn; the next turn follows.
func (j *Journal) run() {
	defer close(j.done)
	for open := true; open; {
		hook.Guard(func() { open = j.turn() })
	}
}

// turn keeps the events that came, and hands them on. It returns false when the
// journal is closed and empty.
func (j *Journal) turn() (open bool) {
	batch, open := j.takeBatch()
	if !open {
		return false
	}
	defer j.reuse(batch)
	defer j.wakeWaiting(&batch)
	if j.isSweepDue() {
		hook.Guard(j.sweep)
	}
	if batch.len() > 0 {
		j.armSweep(sweepEvery)
	}
	hook.Guard(func() { j.lookForPod(&batch) })
	j.out.Lock()
	defer j.out.Unlock()
	for i := range batch.events {
		e := batch.event(i)
		if !hook.Guard(func() { j.keep(&e) }) {
			j.missed(e.Kind)
		}
	}
	for w := range j.watchers {
		w.flush()
		if w.history != nil {
			w.history.cutAt(j.recorder.taken)
		}
	}
	return true
}

// waiter waits until the event of that number is kept.
type waiter struct {
	seq  uint64
	kept chan struct{}
}

// Kept returns a channel that is closed when all events that were put so far are kept.
func (j *Journal) Kept() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := waiter{j.seq, make(chan struct{})}
	if j.doneSeq >= w.seq || j.closed {
		close(w.kept)
		return w.kept
	}
	j.waiting = append(j.waiting, w)
	return w.kept
}

// wakeWaiting wakes the callers that wait for the events of a batch.
func (j *Journal) wakeWaiting(batch *queue) {
	if batch.len() == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doneSeq = max(j.doneSeq, batch.event(batch.len()-1).Seq)
	j.waiting = slices.DeleteFunc(j.waiting, func(w waiter) bool {
		if w.seq <= j.doneSeq {
			close(w.kept)
			return true
		}
		return false
	})
}

func (j *Journal) isSweepDue() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	due := j.sweepDue
	j.sweepDue = false
	return due
}

// keep encodes an event, and gives it to the verdicts, the recorder and the watchers. The caller holds out.
func (j *Journal) keep(e *Event) {
	j.handed = e.Seq
	j.buf = e.appendTo(j.buf[:0])
	hook.Guard(func() { j.verdicts.addEvent(e, j.buf) })
	recorded := hook.Guard(func() { j.recorder.add(e, j.buf) })
	j.hand(e, j.buf)
	if j.called != nil {
		hook.Guard(func() { j.called(*e) })
	}
	if !recorded {
		j.missed(e.Kind)
	}
}

// missed counts an event that was lost to a fault of the agent's own. A drop
// event is not counted: it would make another one.
func (j *Journal) missed(k agentpb.Kind) {
	if k == agentpb.Kind_DROP {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop(k, 1)
}

// reuse keeps the room of a batch for the next ones.
func (j *Journal) reuse(batch queue) {
	batch.reset()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare = batch
}

// lookForPod calls podSeen if a batch has the first event about a pod. No
// watcher has the event yet.
func (j *Journal) lookForPod(batch *queue) {
	if j.podSeen == nil || !slices.ContainsFunc(batch.events, func(e queued) bool { return e.pod != nil }) {
		return
	}
	call := j.podSeen
	j.podSeen = nil
	call()
}

// hand gives an event to the watchers that want it. The caller holds out.
func (j *Journal) hand(e *Event, encoded []byte) {
	var shared []byte
	for w := range j.watchers {
		ok := hook.Guard(func() {
			if !w.want.wants(e) {
				return
			}
			if shared == nil {
				shared = j.shared.copy(encoded)
			}
			w.push(e, shared)
		})
		if !ok {
			w.miss(e)
		}
	}
}

// Watch adds a watcher. A watcher that wants history is first given what the recorder remembers.
func (j *Journal) Watch(want Wanted) (*Watcher, error) {
	j.out.Lock()
	defer j.out.Unlock()
	if j.clients() >= maxWatchers {
		return nil, reason.Failed(codes.FailedPrecondition, &agentpb.Problem{
			Code: agentpb.Problem_TOO_MANY_WATCHERS, Args: map[string]string{"count": strconv.Itoa(maxWatchers)},
		})
	}
	return j.add(newWatcher(want)), nil
}

// add adds a watcher. The caller holds out.
func (j *Journal) add(w *Watcher) *Watcher {
	w.journal, w.began = j, j.handed
	if w.want.History {
		w.history = j.recorder.history(&w.want)
	}
	j.watchers[w] = struct{}{}
	j.shareOut()
	return w
}

// clients returns how many watchers are clients'. The caller holds out.
func (j *Journal) clients() (n int) {
	for w := range j.watchers {
		if !w.own {
			n++
		}
	}
	return n
}

func (j *Journal) remove(w *Watcher) {
	j.out.Lock()
	defer j.out.Unlock()
	delete(j.watchers, w)
	j.shareOut()
}

// Watched reports whether a client is sent events as they come.
func (j *Journal) Watched() bool { return j.live.Load() > 0 }

// shareOut gives each watcher an equal share, and counts those that are live. The caller holds out.
func (j *Journal) shareOut() {
	share := min(watcherBytes, watchersBytes/max(1, len(j.watchers)))
	live := int32(0)
	for w := range j.watchers {
		w.setShare(share)
		if w.want.Live && !w.own {
			live++
		}
	}
	j.live.Store(live)
}
