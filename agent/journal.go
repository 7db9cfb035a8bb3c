package agent

import (
	"strings"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// linger is how long an event waits for company. Nobody sees it.
const linger = 5 * time.Millisecond

// keptQueue bounds the room for events that is kept after a burst.
const keptQueue = 1 << 14

// journal numbers events and takes them from the kubelet's goroutines to the
// agent's own. put is all that the kubelet waits for: a lock and a copy.
type journal struct {
	mu      sync.Mutex
	wake    sync.Cond
	queue   []event
	spare   []event
	limit   int
	seq     uint64
	dropped [agentpb.Kind_NOTE + 1]uint64 // since last told
	lost    map[string]uint64             // in all, by kind
	closed  bool

	// out is held while events are kept and handed on, so that who begins to
	// watch sees each event once: from the recorder or live.
	out      sync.Mutex
	recorder *recorder
	watchers map[*watcher]struct{}
	done     chan struct{}
}

func newJournal(limit int, r *recorder) *journal {
	j := &journal{limit: limit, recorder: r, watchers: map[*watcher]struct{}{}, lost: map[string]uint64{}, done: make(chan struct{})}
	j.wake.L = &j.mu
	return j
}

// put queues an event. When the queue is full the event is dropped and
// counted, unless it is about a hold: there are few of those.
func (j *journal) put(e event) {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return
	}
	if len(j.queue) >= j.limit && e.kind != agentpb.Kind_HOLD && e.kind != agentpb.Kind_RELEASE {
		j.dropped[e.kind]++
		j.mu.Unlock()
		return
	}
	j.seq++
	e.seq = j.seq
	j.queue = append(j.queue, e)
	if len(j.queue) == 1 {
		j.wake.Signal()
	}
	j.mu.Unlock()
}

// lose counts calls of which there will be neither enter nor exit.
func (j *journal) lose(calls int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropped[agentpb.Kind_ENTER] += uint64(calls)
	j.dropped[agentpb.Kind_EXIT] += uint64(calls)
}

func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.wake.Signal()
	j.mu.Unlock()
	<-j.done
}

// take waits for events and takes them all. It leaves a moment for more to
// come: a pod's steps follow each other closely, and waking the agent and every
// client for each of them costs the machine more than the steps' events do.
func (j *journal) take() (batch []event, open bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.queue) == 0 && !j.closed {
		j.wake.Wait()
	}
	if len(j.queue) < j.limit/8 && !j.closed {
		j.mu.Unlock()
		time.Sleep(linger)
		j.mu.Lock()
	}
	batch, j.queue, j.spare = j.queue, j.spare[:0], nil
	if drop, any := j.drops(); any {
		batch = append(batch, drop)
	}
	return batch, len(batch) > 0 || !j.closed
}

// drops makes an event of what was dropped since the last one. The caller
// holds mu.
func (j *journal) drops() (event, bool) {
	e := event{kind: agentpb.Kind_DROP}
	for k, n := range j.dropped {
		if n > 0 {
			kind := strings.ToLower(agentpb.Kind(k).String())
			e.fields = append(e.fields, number(kind, int64(n)))
			j.lost[kind] += n
		}
	}
	if e.fields == nil {
		return e, false
	}
	j.dropped = [agentpb.Kind_NOTE + 1]uint64{}
	j.seq++
	e.seq = j.seq
	if n := len(j.queue); n > 0 {
		e.wall, e.mono = j.queue[n-1].wall, j.queue[n-1].mono
	}
	return e, true
}

// run is the agent's goroutine.
func (j *journal) run() {
	defer close(j.done)
	var buf []byte
	for {
		batch, open := j.take()
		if !open {
			return
		}
		j.out.Lock()
		for i := range batch {
			e := &batch[i]
			buf = e.appendTo(buf[:0])
			j.recorder.add(e, buf)
			j.hand(e, buf)
		}
		for w := range j.watchers {
			w.flush()
		}
		j.out.Unlock()
		clear(batch) // lets go of what the events point at
		j.mu.Lock()
		if cap(batch) <= keptQueue {
			j.spare = batch
		}
		j.mu.Unlock()
	}
}

// hand gives an event to those who want it. The caller holds out.
func (j *journal) hand(e *event, encoded []byte) {
	var shared []byte
	for w := range j.watchers {
		if !w.wants(e) {
			continue
		}
		if shared == nil {
			shared = append(make([]byte, 0, len(encoded)), encoded...)
		}
		w.push(e, shared)
	}
}

// watch adds a watcher. With history it is first given what the recorder
// remembers.
func (j *journal) watch(w *watcher, history bool) {
	j.out.Lock()
	defer j.out.Unlock()
	if history {
		w.history = j.recorder.story(w)
	}
	j.watchers[w] = struct{}{}
}

func (j *journal) unwatch(w *watcher) {
	j.out.Lock()
	defer j.out.Unlock()
	delete(j.watchers, w)
}
