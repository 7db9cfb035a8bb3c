package tui

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// TestWalkTakesAnotherName: if the names of a walk are taken, its commands, breakpoints and stops have other names.
func TestWalkTakesAnotherName(t *testing.T) {
	d := walking(t)
	d.w.found, d.w.suffix = cluster.Found{Taken: []string{"pod default/hello"}}, "-2"
	d.press("n").sees("taken already: pod default/hello", "uses default/hello-2", "kubectl create").called()
	d.press("n").called("break default/hello-2 cri.RunPodSandbox podstep.dev/walk=run", "do create")
	// The pod that was there before does not belong to the walk, whatever it does.
	d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
	d.sees("waiting for sync.dirs")
}

// TestWalkPassesOverOthers: an event is not the stop's if its pod only has the walk's name and was not made by the
// walk.
func TestWalkPassesOverOthers(t *testing.T) {
	d := walking(t)
	d.press("n", "n").sees("waiting for sync.dirs")
	yours := &agentpb.Pod{Id: 3, Namespace: "default", Name: "hello", Uid: "yours"}
	d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(yours)}})
	d.sees("waiting for sync.dirs")
	d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
	d.sees("They are there.")
}

// TestWalkAsksAboutLeftovers: what an earlier walk made is deleted only after a yes, else kept.
func TestWalkAsksAboutLeftovers(t *testing.T) {
	for _, c := range []struct {
		keys  []string
		calls []string
	}{
		{[]string{"enter"}, nil},
		{[]string{"esc"}, nil},
		{[]string{"right", "enter"}, []string{"clear"}},
	} {
		d := walking(t)
		d.w.found = cluster.Found{Left: []string{"pod default/hello"}}
		d.press("n").sees("Delete what an earlier walk made?", "pod default/hello").called()
		d.press(c.keys...).called(c.calls...)
		d.sees("A pod is made.", "n does it")
	}
}

// TestWalkLooksAgain: if somebody takes a name between the look and the creation, the walk looks for names again and
// overwrites nothing.
func TestWalkLooksAgain(t *testing.T) {
	d := walking(t)
	d.press("n")
	d.w.refuse = &cluster.TakenError{Object: "pod default/hello"}
	d.press("n").sees("did not", "n begins")
	d.w.refuse, d.w.suffix = nil, "-2"
	d.w.calls = nil
	d.press("n", "n").called("break default/hello-2 cri.RunPodSandbox podstep.dev/walk=run", "do create")
	if len(d.w.points) != 1 {
		t.Errorf("%d breakpoints are set", len(d.w.points))
	}
}

// TestWalkAsksBeforePressure: if a node has pods of others, it gets short of something only after a yes.
func TestWalkAsksBeforePressure(t *testing.T) {
	tour := shortWalk()
	tour.Stops[3].Act = &tours.Action{Do: tours.Pressure, Object: "memory.available=1Mi"}
	tour.Stops = slices.Delete(tour.Stops, 1, 3)
	for _, c := range []struct {
		others []string
		keys   []string
		did    bool
	}{
		{nil, nil, true},
		{[]string{"default/yours"}, []string{"enter"}, false},
		{[]string{"default/yours"}, []string{"esc"}, false},
		{[]string{"default/yours"}, []string{"right", "enter"}, true},
	} {
		d := newDesk(t, newWorld(), Options{})
		d.m.offered = true
		d.live()
		d.run(d.m.startWalk(tour))
		d.press("n", "n")
		d.w.calls, d.w.others = nil, c.others
		d.press("n")
		if c.others != nil {
			d.sees("Make the node short of memory?", "default/yours").called()
		}
		d.press(c.keys...)
		if c.did {
			d.called("do pressure")
		} else {
			d.called().sees("n does it")
		}
	}
}

// TestWalkEndedWhileItMakes: podstep also offers to delete what was being made when the walk ended.
func TestWalkEndedWhileItMakes(t *testing.T) {
	d := walking(t)
	d.press("n")
	d.park = true
	d.press("n", "x")
	d.unpark()
	d.sees("Delete what the walk made?", "pod default/hello")
	d.press("right", "enter")
	if len(d.w.made) != 0 || len(d.w.points) != 0 {
		t.Errorf("left are %v and %d breakpoints", d.w.made, len(d.w.points))
	}
}
