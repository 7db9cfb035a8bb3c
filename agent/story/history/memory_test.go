package history

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// TestListGivesBack: a list keeps its members at their places. Its memory is bounded by its length, in whatever way
// members were dropped.
func TestListGivesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l List[int]
	for range 2000 {
		for range r.IntN(100) {
			if at := l.Add(l.End()); at != l.End()-1 {
				t.Fatalf("a member is at %d, the end at %d", at, l.End())
			}
		}
		l.Forget(l.First + r.IntN(150))
		if room := l.front + cap(l.All); room > 2*len(l.All)+64 {
			t.Fatalf("%d members have room for %d", len(l.All), room)
		}
		for i := l.First; i < l.End(); i++ {
			if *l.At(i) != i {
				t.Fatalf("at %d is what was at %d", i, *l.At(i))
			}
		}
	}
	if l.Forget(l.End()); l.All != nil {
		t.Error("an empty list keeps memory")
	}
	if n := testing.AllocsPerRun(10, func() { l.Forget(l.End()) }); n > 0 {
		t.Errorf("an empty list that forgets makes %v allocations", n)
	}
}

// TestOpenCallStays: a call is found for as long as it goes on, and keeps no other memory.
func TestOpenCallStays(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.SetLimit(1)
	seq := 0
	event := func(kind agentpb.Kind, span uint64) {
		seq++
		h.AddEvent(eventAt(seq, &agentpb.Event{Kind: kind, Step: 1, Span: span}), nil)
	}
	const open, many = 1000, 10 * chunkEvents
	event(agentpb.Kind_ENTER, open)
	for i := range uint64(many) {
		event(agentpb.Kind_ENTER, 2000+i)
		event(agentpb.Kind_EXIT, 2000+i)
	}
	sp := h.Span(h.FindSpan(open))
	if sp == nil || sp.ID != open || sp.Exit != None {
		t.Fatalf("the call that goes on is %v", sp)
	}
	if n := len(h.spans.byID); n > 2*chunkEvents || len(h.spans.old) != 1 || len(h.spans.chunks.All) > 2*chunkEvents/spanChunk {
		t.Errorf("%d calls are known, %d old ones and %d chunks", n, len(h.spans.old), len(h.spans.chunks.All))
	}
	event(agentpb.Kind_EXIT, open)
	if sp.Exit == None || h.Span(0) != sp {
		t.Error("it has ended, and goes on")
	}
	for i := range uint64(many) {
		event(agentpb.Kind_ENTER, 200_000+i)
		event(agentpb.Kind_EXIT, 200_000+i)
	}
	if h.FindSpan(open) != None || h.Span(0) != nil || len(h.spans.old) != 0 {
		t.Error("it is kept although all of it is forgotten")
	}
}

// TestLostCallsEnd: when an agent goes, all its open calls end, also the old ones.
func TestLostCallsEnd(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.SetLimit(1)
	for i := range 3 * chunkEvents {
		h.AddEvent(enter(i+1), nil)
	}
	if len(h.spans.old) == 0 {
		t.Fatal("no call is old: the test shows nothing")
	}
	next := agentOf(0, agentpb.ProbeState_PROBE_RUNNING)
	next.Pid++
	h.SetInfo(next)
	for i := range h.spans.end {
		if sp := h.Span(i); sp == nil || sp.Shape != NoExit {
			t.Fatalf("call %d is %v", i, sp)
		}
	}
}

// TestReleaseGivesBack: a history keeps nothing of released pods, in whatever order they are released, and gives
// their places to later ones.
func TestReleaseGivesBack(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	learn := func(id uint32) int {
		return h.Learn(&agentpb.Pod{Id: id, Namespace: "default", Name: fmt.Sprint(id), Uid: fmt.Sprint("uid-", id)})
	}
	const many = 1000
	for id := range uint32(many) {
		learn(id + 1)
	}
	// A pod with two numbers stays until both are released.
	if h.Learn(&agentpb.Pod{Id: many + 1, Namespace: "default", Name: "7", Uid: "uid-7"}) != 7 {
		t.Error("a pod with two numbers has two places")
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(many) {
		h.Release(uint32(i) + 1)
	}
	if i, ok := h.PodOf("uid-7"); !ok || h.Pod(i).Entity.Name != "7" || h.Pods() != 8 {
		t.Errorf("the pod with two numbers is forgotten with the first; %d places", h.Pods())
	}
	if place := learn(many + 2); place != 1 {
		t.Errorf("a new pod has place %d, and the first is free", place)
	}
	h.Release(many + 2)
	h.Release(many + 1)
	h.Release(many + 1)
	h.Release(0)
	if h.Pods() != 1 || len(h.free) != 0 || len(h.byUID) != 0 || len(h.epoch.pods) != 1 || cap(h.pods) > 128 || cap(h.free) > 128 {
		t.Errorf("%d places of %d, %d free, %d uids and %d numbers are left", h.Pods(), cap(h.pods), len(h.free), len(h.byUID), len(h.epoch.pods))
	}
}

// TestBeforeForgetting: whoever is asked before events are forgotten can still read them.
func TestBeforeForgetting(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.SetLimit(1)
	var asked []int
	h.BeforeForgetting(func(before int) {
		if h.Raw(h.First()) == nil || h.Raw(before-1) == nil {
			t.Errorf("events before %d are gone already", before)
		}
		asked = append(asked, before)
	})
	for i := range 3 * chunkEvents {
		h.AddEvent(eventAt(i, &agentpb.Event{Kind: agentpb.Kind_NOTE, Step: 1}), nil)
	}
	if len(asked) != 2 || asked[1] != h.First() {
		t.Errorf("asked before %v, and the first event is %d", asked, h.First())
	}
}
