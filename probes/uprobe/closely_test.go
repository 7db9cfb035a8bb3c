//go:build linux

package uprobe

import (
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// TestClosely: the places of steps that are seen closely come last, and a debugger stops at none of them.
func TestClosely(t *testing.T) {
	_, plan, _ := toyPlan(t)
	for i, at := range plan.places {
		if closely := at.step.Tier == 2; closely != at.step.closely || closely != (i >= plan.always) {
			t.Errorf("place %d of %d, of %s, is seen closely: %v", i, plan.always, at.step.Name, at.step.closely)
		}
	}
	if plan.always == 0 || plan.always == len(plan.places) {
		t.Fatalf("%d of %d places are looked at all the time", plan.always, len(plan.places))
	}
	p := &Probe{plan: plan, table: &memory.Table{}, errors: &errorTypes{}}
	if n := len(p.Plan().Places); n != plan.always {
		t.Errorf("a debugger stops at %d places, want %d", n, plan.always)
	}
	if armed := p.ArmedPlaces(map[string]Armed{"toy.closer": {Enter: true, Exit: true}}); len(armed) != 0 {
		t.Errorf("a debugger arms %v", armed)
	}
	can := p.Abilities(toyCatalogue(), Holds{})
	for _, name := range []string{"toy.closer", "toy.sync"} {
		if x := can.At(name); !x.Sees() || x.Closely != (name == "toy.closer") {
			t.Errorf("of %s it sees %+v", name, x)
		}
	}
}

// TestEachPod: a debugger does not stop at a function that the kubelet calls for each of its pods at every change, and has the
// reason. The kernel still looks there.
func TestEachPod(t *testing.T) {
	program, _, _ := toyPlan(t)
	c := toyCatalogue()
	c.Steps[indexOf(c, "toy.sync")].EachPod = true
	_, plan, _ := planIn(t, program, c, toyTable)
	p := &Probe{plan: plan, table: &memory.Table{}, errors: &errorTypes{}}
	no := p.NoBreakpoints()
	for name, why := range no {
		if (name == "toy.sync") != (why.Code == reasons.EachPod.Reason().Code) {
			t.Errorf("a debugger does not stop at %s, as %s", name, why.Text().En)
		}
	}
	for i, at := range p.Plan().Places {
		name := plan.places[i].step.Name
		if _, not := no[name]; name == "toy.sync" && (!not || at.Address != 0) || !not && at.Address == 0 {
			t.Errorf("a debugger's breakpoint of %s stands at %#x", name, at.Address)
		}
	}
	can := p.Abilities(c, Holds{})
	if x := can.At("toy.sync"); !x.Sees() {
		t.Errorf("the kernel does not look there: %+v", x)
	}
}

// TestShowsGoroutine: the steps that show whose goroutine it is are looked at all the time, whatever their tier.
func TestShowsGoroutine(t *testing.T) {
	p, _, _ := toyPlan(t)
	for name, set := range map[string]func(*probes.Step){
		"root":    func(s *probes.Step) { s.Root = true },
		"starts":  func(s *probes.Step) { s.Starts = true },
		"carries": func(s *probes.Step) { s.Carries = true },
		"awaits":  func(s *probes.Step) { s.Awaits = true },
	} {
		c := toyCatalogue()
		set(&c.Steps[indexOf(c, "toy.closer")])
		_, plan, _ := planIn(t, p, c, toyTable)
		for _, s := range plan.steps {
			if s.Name == "toy.closer" && s.closely {
				t.Errorf("%s: it is seen only closely", name)
			}
		}
	}
}

// TestLookAway: a call that is seen only closely ends unseen when the probe looks away, but not before the calls in it that are
// still seen. An exit that was on its way then ends nothing.
func TestLookAway(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web()...)
	s.enter("toy.closer", 7, 200)
	s.enter("toy.closer", 8, 100)
	s.enter("toy.sync", 8, 200, web()...)
	s.calls.lookAway(clock.Time(s.now).Time())
	s.exit("toy.sync", 7, 100)
	s.exit("toy.sync", 8, 200)
	s.exit("toy.closer", 8, 100)
	s.enter("toy.closer", 9, 100)
	s.exit("toy.closer", 9, 100)
	const unseen = "it is not known how the function returned: nobody saw it"
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"enter toy.closer [] in toy.sync",
		"enter toy.closer []",
		"enter toy.sync ["+webRef+" <nil>] in toy.closer",
		"exit toy.closer [] "+unseen+" after 2",
		"exit toy.sync [false <nil>] <nil> after 4",
		"exit toy.sync [false <nil>] <nil> after 2",
		"exit toy.closer [] "+unseen+" after 3",
		"enter toy.closer []",
		"exit toy.closer [false] <nil> after 1",
	)
	if n := len(s.calls.goroutines); n != 0 {
		t.Errorf("%d goroutines are remembered", n)
	}
}

// TestUnseenInTurn: a call of which nobody saw the end makes no turn of a worker fail.
func TestUnseenInTurn(t *testing.T) {
	s := newScene(t)
	s.enterWorker("toy.begin", 200, "uid", uid1)
	s.exit("toy.begin", 7, 200, "kind", "sync", "ok", 1)
	s.enterWorker("toy.closer", 200)
	s.calls.lookAway(clock.Time(s.now).Time())
	s.enterWorker("toy.complete", 200, "uid", uid1)
	const pod = "{" + uid1 + "   }"
	s.want(
		"enter toy.begin ["+pod+"] by worker",
		"exit toy.begin [false sync true] <nil> after 1",
		"enter toy.turn ["+pod+" sync] by worker",
		"enter toy.closer [] in toy.turn by worker",
		"exit toy.closer [] it is not known how the function returned: nobody saw it after 0",
		"exit toy.turn [false] <nil> after 2",
		"enter toy.complete ["+pod+" <nil>] by worker",
	)
}
