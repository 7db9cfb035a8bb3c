package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// inAndOut returns two probes. The one in the kubelet sees all and can stop nothing. The one on the socket sees the
// calls to the runtime and can stop them.
func inAndOut() []probes.Abilities {
	in, out := seesAll()[0], probes.Abilities{Probe: "cri", Steps: map[string]probes.Ability{}}
	in.Probe, in.Knows = "uprobe", probes.Knows{Turns: true, Nesting: true, Workers: true}
	for name, can := range in.Steps {
		if probes.MustLoad().Step(name).Stage == stageCRI {
			out.Steps[name] = probes.Everything()
		}
		can.HoldEnter, can.HoldExit, can.Fail = false, false, false
		in.Steps[name] = can
	}
	return []probes.Abilities{in, out}
}

// twice is an agent with these two probes, and a pod of which both know a sandbox.
type twice struct {
	*rig
	pod     *v1.Pod
	in, out *Probe
}

func newTwice(t *testing.T) *twice {
	r := newRig(t, Options{Probes: inAndOut()})
	p := newPod("default", "web")
	r.Sandbox(sandboxOf(p), "s1", "c1", "c2")
	return &twice{r, p, r.Probe("uprobe"), r.Probe("cri")}
}

// stop begins a StopContainer, as a probe sees it at that many milliseconds.
func (w *twice) stop(by *Probe, id string, ms int, parent *Call) *Call {
	seen := Seen{Step: "cri.StopContainer", At: w.at(ms), Values: []any{id, id, int64(3)}, Parent: parent}
	if by == w.in {
		seen.Goroutine = 7
		seen.Values = seen.Values[:2] // this probe reads fewer values
	}
	return by.Begin(seen)
}

func (w *twice) at(ms int) time.Time { return w.started.Add(time.Duration(ms) * time.Millisecond) }

// turn begins a turn of the pod's worker, as the probe in the kubelet sees it.
func (w *twice) turn() *Call {
	loop := w.in.Begin(Seen{Step: "worker.loop", At: w.at(0), Values: []any{w.pod.UID}, Goroutine: 7})
	return w.in.Begin(Seen{Step: "worker.turn", At: w.at(1), Parent: loop, Goroutine: 7})
}

func twoSights(r *rig) []*agentpb.Event {
	w := newTwice(r.t)
	*r = *w.rig
	now := time.Now()
	for _, by := range []*Probe{w.in, w.out} {
		by.Begin(Seen{Step: "cri.StopPodSandbox", At: now, Values: []any{"s1", "s1"}}).End(time.Now(), nil, nil)
	}
	return w.events("web")
}

// TestSameCall: a call that two probes see is in the story once, whichever reports it first, with what both have seen.
func TestSameCall(t *testing.T) {
	failed := errors.New("no such container")
	for name, play := range map[string]func(w *twice, turn *Call){
		"outer first": func(w *twice, turn *Call) {
			outer := w.stop(w.in, "c1", 10, turn)
			inner := w.stop(w.out, "c1", 12, nil)
			inner.End(w.at(20), failed, []any{false})
			outer.End(w.at(22), failed, []any{false})
		},
		"inner first": func(w *twice, turn *Call) {
			inner := w.stop(w.out, "c1", 12, nil)
			outer := w.stop(w.in, "c1", 10, turn)
			outer.End(w.at(22), failed, []any{false})
			inner.End(w.at(20), failed, []any{false})
		},
		"inner is over": func(w *twice, turn *Call) {
			w.stop(w.out, "c1", 12, nil).End(w.at(20), failed, []any{false})
			w.stop(w.in, "c1", 10, turn).End(w.at(22), failed, []any{false})
		},
		"outer is long": func(w *twice, turn *Call) {
			outer := w.stop(w.in, "c1", 10, turn)
			w.stop(w.out, "c1", 90_000, nil).End(w.at(90_010), failed, nil)
			outer.End(w.at(90_020), failed, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTwice(t)
			turn := w.turn()
			play(w, turn)
			turn.End(w.at(99_000), nil, nil)
			events := w.events("web")
			var enter, exit *agentpb.Event
			seen := map[string]*agentpb.Event{}
			for _, e := range events {
				if w.c.Steps[e.Step-1].Name != "cri.StopContainer" {
					continue
				}
				switch e.Kind {
				case agentpb.Kind_ENTER:
					if enter != nil {
						t.Error("the call is entered twice")
					}
					enter = e
				case agentpb.Kind_EXIT:
					exit = e
				case agentpb.Kind_NOTE:
					seen[e.Fields[0].GetText()] = e
				}
			}
			if enter == nil || exit == nil || len(seen) != 2 {
				t.Fatalf("of the call there is %v, %v, %v", enter, exit, seen)
			}
			first, other := enter.Probe, 3-uint32(max(enter.Probe, 1))
			for side, e := range seen {
				if e.Span != enter.Span || e.Probe != other || e.Sync != 1 || exit.Probe != first || e.Parent == 0 {
					t.Errorf("seen %s: %v, and entered: %v", side, e, enter)
				}
			}
			if seen["exit"].Error != failed.Error() || exit.Error != failed.Error() || seen["exit"].Duration <= 0 {
				t.Errorf("they saw it end as %v and %v", exit, seen["exit"])
			}
		})
	}
}

// TestOtherCalls: calls that only resemble each other are different ones.
func TestOtherCalls(t *testing.T) {
	w := newTwice(t)
	calls := func() (n int) {
		for _, e := range w.events("web") {
			if e.Kind == agentpb.Kind_ENTER {
				n++
			}
		}
		return n
	}
	for i, c := range []struct {
		name string
		play func()
	}{
		{"of two containers", func() {
			a, b := w.stop(w.in, "c1", 10, nil), w.stop(w.out, "c2", 11, nil)
			a.End(w.at(20), nil, nil)
			b.End(w.at(20), nil, nil)
		}},
		{"one after the other", func() {
			w.stop(w.in, "c1", 1000, nil).End(w.at(1100), nil, nil)
			w.stop(w.out, "c1", 1101, nil).End(w.at(1200), nil, nil)
		}},
		{"twice by one probe", func() {
			w.stop(w.out, "c1", 5000, nil)
			w.stop(w.out, "c1", 5001, nil)
		}},
		{"long before", func() {
			w.stop(w.out, "c2", 9000, nil)
			w.stop(w.in, "c2", 8000, nil)
		}},
	} {
		c.play()
		if got, want := calls(), 2*(i+1); got != want {
			t.Fatalf("%s: there are %d calls, want %d", c.name, got, want)
		}
	}
	for i := range 3 * keptSights {
		w.stop(w.out, fmt.Sprint("other", i), 20_000, nil)
	}
	if n := len(w.sights.all); n > keptSights {
		t.Errorf("%d sights are kept", n)
	}
}

// TestSameCallIsHeldOnce: if several probes see a call, the first that can stop it does.
func TestSameCallIsHeldOnce(t *testing.T) {
	w := newTwice(t)
	if _, err := w.addBreakpoint(&agentpb.AddBreakpointRequest{
		Pods: sel(w.pod), Step: "cri.StopContainer",
		Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(time.Hour)}},
	}); err != nil {
		t.Fatal(err)
	}
	fault := &agentpb.AddBreakpointRequest_Fail{Fail: "NotFound: it is gone"}
	if _, err := w.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(w.pod), Step: "cri.RemoveContainer", Action: fault, Times: 2}); err != nil {
		t.Fatal(err)
	}
	turn := w.turn()
	outer := w.stop(w.in, "c1", 10, turn)
	if err := outer.Stop(t.Context()); err != nil { // it would hang if it were held
		t.Error(err)
	}
	inner, done := w.stop(w.out, "c1", 12, nil), make(chan error, 1)
	go func() { done <- inner.Stop(t.Context()) }()
	h := w.held(w.pod)
	if h.At.span.parent == nil || h.At.part.id != outer.span.one.id {
		t.Error("it is held as a call of its own")
	}
	h.Release("continue")
	if err := <-done; err != nil {
		t.Error(err)
	}
	var kinds []string
	for _, e := range w.events("web") {
		if e.Span == outer.span.one.id {
			kinds = append(kinds, fmt.Sprint(e.Kind, " ", w.probes[max(e.Probe, 1)-1].name()))
		}
	}
	wantNames(t, kinds, []string{"ENTER uprobe", "NOTE cri", "HOLD cri", "RELEASE cri"})

	// If both can, the first does.
	for i := range w.steps {
		w.steps[i].seers.reach[0].Store(uint32(reachSees | reachHoldsEnter | reachHoldsExit | reachFails))
	}
	remove := Seen{Step: "cri.RemoveContainer", At: w.at(30), Values: []any{"c1", "c1"}}
	for i, by := range []*Probe{w.in, w.out} {
		if err := by.Begin(remove).Stop(t.Context()); (err != nil) != (i == 0) {
			t.Errorf("probe %d: the call fails with %v", i, err)
		}
	}
}

// TestProbeState: every watcher, whatever it selects, is sent each change of a probe's state once.
func TestProbeState(t *testing.T) {
	w := newTwice(t)
	watch := w.watcher(&agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: "nobody"}, Steps: []string{"sync.pod"}})
	for range 2 {
		w.in.State(agentpb.ProbeState_PROBE_FAILED, unheld.With("step", "any"))
	}
	w.settle()
	got := w.decoded(watch.Rest(w.journal.Last()))
	if len(got) != 1 {
		t.Fatalf("%d events say so", len(got))
	}
	e := got[0]
	if e.Probe != 1 || e.Fields[0].GetText() != "failed" || e.Fields[1].GetText() != "test.unheld" || e.Fields[2].Name != "step" || e.Fields[2].GetText() != "any" {
		t.Errorf("it says %v", e)
	}
	if w.sees(w.stepNamed("sync.pod")) || !w.sees(w.stepNamed("cri.StopContainer")) {
		t.Error("a probe that has failed still sees, or the other one does not")
	}
	if w.stop(w.out, "c1", 3, nil) == nil {
		t.Error("the other one is deaf")
	}
}
