package journal

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// all reads the history to its end.
func (h *history) all() (out []kept) {
	for events := h.read(); len(events) > 0; events = h.read() {
		out = append(out, events...)
	}
	return out
}

func TestManyWatchers(t *testing.T) {
	r := newRig(t, Options{})
	var all []*Watcher
	for range maxWatchers {
		all = append(all, r.watcher(Wanted{Live: true}))
	}
	_, err := r.Watch(wants(Wanted{Live: true, History: true}))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxWatchers)) || !strings.Contains(err.Error(), "end one") {
		t.Errorf("one more is refused with %v", err)
	}
	all[3].Close()
	r.watcher(Wanted{Live: true, History: true})
}

// queued returns how many bytes the queues of all watchers hold.
func (j *Journal) queued() (bytes int) {
	j.out.Lock()
	defer j.out.Unlock()
	for w := range j.watchers {
		w.mu.Lock()
		for i := range w.queue {
			bytes += w.queue[i].size()
		}
		w.mu.Unlock()
	}
	return bytes
}

// TestDeafWatchers: clients that do not read, even the first of them, hold no more than their share. A client that
// reads is sent everything.
func TestDeafWatchers(t *testing.T) {
	r := newRig(t, Options{})
	large := strings.Repeat("x", 4<<10)
	var deaf []*Watcher
	for range maxWatchers - 1 {
		w := r.watcher(Wanted{Node: true, Live: true})
		deaf = append(deaf, w)
		// As much as one watcher may hold alone.
		for range 2 * watcherBytes / (maxWatchers - 1) / len(large) {
			r.Put(Event{Kind: agentpb.Kind_NOTE, Err: large})
		}
		r.settle()
		if n := r.queued(); n > watchersBytes {
			t.Fatalf("the queues of %d watchers hold %d MiB", len(deaf), n>>20)
		}
	}
	reads := r.watcher(Wanted{Node: true, Live: true})
	for range 100 {
		for range 200 {
			r.Put(Event{Kind: agentpb.Kind_NOTE, Err: large})
		}
		for n := 0; n < 200; {
			for _, k := range r.nextEvents(reads) {
				if n++; k.kind == agentpb.Kind_DROP {
					t.Fatal("a watcher that reads loses events")
				}
			}
		}
	}
	if n := r.queued(); n > watchersBytes {
		t.Errorf("the queues hold %d MiB", n>>20)
	}
	for _, w := range deaf {
		r.Put(Event{Kind: agentpb.Kind_HOLD})
		r.untilDrop(w)
	}
}

// TestHoldsFindRoom: a client that has not read for long is still sent the holds, but not without bound.
func TestHoldsFindRoom(t *testing.T) {
	w := &Watcher{share: 1 << 20, dropped: map[agentpb.Kind]int64{}}
	e := &Event{Kind: agentpb.Kind_ENTER}
	raw := make([]byte, 1<<10)
	for range 4 << 10 {
		w.push(e, raw)
	}
	if w.dropped[agentpb.Kind_ENTER] == 0 || w.bytes > w.share-holdBytes {
		t.Fatalf("%d bytes, dropped %v", w.bytes, w.dropped)
	}
	for range 4 << 10 {
		w.push(&Event{Kind: agentpb.Kind_HOLD}, raw)
	}
	held := 0
	for _, k := range w.queue {
		if k.kind == agentpb.Kind_HOLD {
			held++
		}
	}
	if held < 100 || w.bytes > w.share || w.dropped[agentpb.Kind_HOLD] == 0 {
		t.Errorf("%d holds in %d bytes, dropped %v", held, w.bytes, w.dropped)
	}
}

// TestHistoryThenLive: whenever a watcher begins, it is sent every event once, in order, even if events come meanwhile
// and stories grow.
func TestHistoryThenLive(t *testing.T) {
	r := newRig(t, Options{})
	const pods, events, watchers = 20, 30_000, 8
	var all sync.WaitGroup
	begin := make(chan struct{}, watchers)
	for range watchers {
		all.Go(func() {
			<-begin
			r.checkInOrder(events)
		})
	}
	table := make([]*Pod, pods+1) // the first is the node
	for i := range pods {
		table[i+1] = podOf(uint32(i+1), fmt.Sprint(i))
		table[i+1].Name("default", fmt.Sprint(i))
	}
	for i := range events {
		r.Put(Event{Kind: agentpb.Kind_ENTER, Pod: table[i%len(table)], Sync: uint32(i / 1000)})
		if i%(events/watchers/2) == 0 && i/(events/watchers/2) < watchers {
			begin <- struct{}{}
		}
		if i%1000 == 0 {
			r.settle()
		}
	}
	r.Put(Event{Kind: agentpb.Kind_NOTE, Err: "settle"})
	all.Wait()
}

// checkInOrder watches with history until so many events have come.
func (r *rig) checkInOrder(events int) {
	w, err := r.Watch(wants(Wanted{Node: true, History: true, Live: true}))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer w.Close()
	seq := uint64(0)
	check := func(batch []kept) bool {
		for _, k := range batch {
			if seq++; k.seq != seq {
				r.t.Errorf("event %d comes after event %d", k.seq, seq-1)
				return false
			}
		}
		return true
	}
	for batch := w.history.read(); len(batch) > 0; batch = w.history.read() {
		if !check(batch) {
			return
		}
	}
	for seq < uint64(events) {
		batch, err := w.next(r.t.Context())
		if err != nil {
			r.t.Error(err)
			return
		}
		if !check(batch) {
			return
		}
	}
}

// TestHistoryIsCut: a client that does not read the history that it asked for does not keep events that the recorder
// has dropped.
func TestHistoryIsCut(t *testing.T) {
	r := newRig(t, Options{RecorderBytes: 4 << 20})
	large := strings.Repeat("x", 4<<10)
	for i := range uint32(500) {
		r.Put(Event{Kind: agentpb.Kind_NOTE, Pod: podOf(i+1, ""), Err: large})
	}
	r.settle()
	w := r.watcher(Wanted{Node: true, History: true, Live: true})
	begun := len(w.history.read())
	whole := w.history.left
	for range 2 * historyKeeps / len(large) {
		r.Put(Event{Kind: agentpb.Kind_NOTE, Err: large})
	}
	r.settle()
	w.history.mu.Lock()
	readers := len(w.history.readers)
	w.history.mu.Unlock()
	if readers != 0 {
		t.Errorf("the history still has %d stories", readers)
	}
	rest := decoded(t, w.history.all())
	if len(rest) != 1 || rest[0].Kind != agentpb.Kind_DROP || rest[0].Time == 0 || rest[0].Mono == 0 {
		t.Fatalf("after %d events the rest is %v", begun, rest)
	}
	if f := rest[0].Fields[0]; f.Name != "history" || f.GetNumber() != whole || whole <= 0 {
		t.Errorf("lost are %v, of %d", f, whole)
	}
}

// TestSentAreBounded: the pods that a watcher remembers are bounded, and each pod is still sent before its events.
func TestSentAreBounded(t *testing.T) {
	sent, times := sentPods{}, 0
	for i := range 3 * maxSentPods {
		p := podOf(uint32(i+1), "u")
		batch := func() { times += len(sent.batch([]kept{{pod: p, data: []byte{8, 1}}}).Pods) }
		for range 3 {
			batch()
		}
		p.Name("default", "web")
		batch()
	}
	if len(sent) > maxSentPods {
		t.Errorf("the watcher remembers %d pods", len(sent))
	}
	// Each pod comes without its name, and with it.
	if want := 2 * 3 * maxSentPods; times < want || times > want+10 {
		t.Errorf("%d pods were sent, want %d", times, want)
	}
}

// TestQueueIsBounded: the queue takes holds when it takes nothing else any more, but not without bound.
func TestQueueIsBounded(t *testing.T) {
	const limit = 100
	clock := func() (wall, mono int64) { return 1, 1 }
	j := newJournal(Options{QueueEvents: limit, RecorderBytes: 1 << 20, Clock: clock}) // no goroutine takes events from it
	for _, kind := range []agentpb.Kind{agentpb.Kind_ENTER, agentpb.Kind_HOLD, agentpb.Kind_RELEASE} {
		for range 10 * limit {
			j.Put(Event{Kind: kind})
		}
	}
	if j.queue.len() != 2*limit {
		t.Errorf("the queue has %d events, want %d", j.queue.len(), 2*limit)
	}
	for kind, want := range map[agentpb.Kind]uint64{agentpb.Kind_ENTER: 9 * limit, agentpb.Kind_HOLD: 9 * limit, agentpb.Kind_RELEASE: 10 * limit} {
		if got := j.dropped[kind]; got != want {
			t.Errorf("%d events of kind %v are counted as dropped, want %d", got, kind, want)
		}
	}
}
