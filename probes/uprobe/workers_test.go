//go:build linux

package uprobe

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/reasons"
)

// namelessTable is toyTable of a program in which neither a worker's life nor the end of a turn names the pod.
var namelessTable = strings.NewReplacer(
	"toy.loop\tpod\tuid\tstring\tuid\tr1", "toy.loop\tpod\tuid\tnone\tmissing",
	"toy.complete\tpod\tuid\tstring\tuid\tr1", "toy.complete\tpod\tuid\tnone\tmissing",
).Replace(toyTable)

// namelessScene is a scene by that table.
func namelessScene(t *testing.T) *scene {
	t.Helper()
	c := toyCatalogue()
	c.Steps[indexOf(c, "toy.sync")].Story.Role = probes.RoleWork
	s := newSceneBy(t, c, namelessTable)
	if !s.calls.nameless {
		t.Fatal("the worker's life names its pod")
	}
	return s
}

// TestNamelessWorker: the first call of a worker that names its pod names it for the worker's life, and for its later calls. What
// another goroutine does names nothing.
func TestNamelessWorker(t *testing.T) {
	s := namelessScene(t)
	s.enterWorker("toy.loop", 100)
	s.enter("toy.sync", 8, 100, web()...)
	s.exit("toy.sync", 8, 100)
	s.enterWorker("toy.sync", 200, web()...)
	s.exit("toy.sync", 7, 200)
	s.enterWorker("toy.complete", 200)
	s.exit("toy.complete", 7, 200)
	s.exit("toy.loop", 7, 100)
	const pod = "{" + uid1 + "   }"
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"exit toy.sync [false <nil>] <nil> after 1",
		"enter toy.loop ["+pod+"] by worker",
		"enter toy.sync ["+webRef+" <nil>] in toy.loop by worker",
		"exit toy.sync [false <nil>] <nil> after 1",
		"enter toy.complete ["+pod+" <nil>] in toy.loop by worker",
		"exit toy.complete [false] <nil> after 1",
		"exit toy.loop [false] <nil> after 7",
	)
	if _, is := s.calls.goroutines[7]; is {
		t.Error("the worker's goroutine is remembered")
	}
}

// TestNamelessUnderWay: a probe that starts in the middle of a worker's life learns its pod from the worker's next turn, and not
// from a call inside of one: that may be about another pod.
func TestNamelessUnderWay(t *testing.T) {
	s := namelessScene(t)
	s.enterWorker("toy.mount", 300, web()...)
	s.exit("toy.mount", 7, 300)
	s.enterWorker("toy.complete", 200)
	s.exit("toy.complete", 7, 200)
	s.enterWorker("toy.sync", 200, web()...)
	s.exit("toy.sync", 7, 200)
	s.enterWorker("toy.complete", 200)
	s.exit("toy.complete", 7, 200)
	s.exit("toy.loop", 7, 100) // which was not seen to begin
	s.enterWorker("toy.complete", 200)
	s.log = s.log[2:]
	s.want(
		"enter toy.complete [<nil> <nil>] by worker",
		"exit toy.complete [false] <nil> after 1",
		"enter toy.sync ["+webRef+" <nil>] by worker",
		"exit toy.sync [false <nil>] <nil> after 1",
		"enter toy.complete [{"+uid1+"   } <nil>] by worker",
		"exit toy.complete [false] <nil> after 1",
		"enter toy.complete [<nil> <nil>] by worker",
	)
}

// TestNamelessEnds: a worker's life of which no pod became known leaves nothing, however it ends.
func TestNamelessEnds(t *testing.T) {
	for name, end := range map[string]func(*scene){
		"it returns":          func(s *scene) { s.exit("toy.loop", 7, 100) },
		"another life begins": func(s *scene) { s.enterWorker("toy.loop", 100); s.exit("toy.loop", 7, 100) },
		"the kubelet ends":    func(s *scene) { s.calls.endAll(errors.New("the kubelet has ended"), clock.Time(9).Time()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := namelessScene(t)
			s.enterWorker("toy.loop", 100)
			end(s)
			s.want()
			if n := len(s.calls.goroutines); n != 0 {
				t.Errorf("%d goroutines are remembered", n)
			}
		})
	}
}

// TestNamelessHold: no breakpoint waits for a pod where nothing shows yet whose worker begins. It can be held where its life ends.
func TestNamelessHold(t *testing.T) {
	for text, want := range map[string]probes.Reason{toyTable: {}, namelessTable: reasons.Nameless.Reason()} {
		c := toyCatalogue()
		life := &c.Steps[indexOf(c, "toy.loop")]
		life.Goroutine, life.Hold = "worker", probes.Hold{Enter: probes.HoldYes, Exit: probes.HoldYes}
		p, plan, table := planIn(t, toy(t), c, text)
		probe, err := newProbe(p, plan, table, 0)
		if err != nil {
			t.Fatal(err)
		}
		can := probe.Abilities(c, Holds{Allowed: true}).Steps["toy.loop"]
		if can.HoldEnter != want.IsZero() || !can.HoldExit || can.NoHold.Code != want.Code {
			t.Errorf("a worker can be held as it begins: %v, as it ends: %v, or not because of %q", can.HoldEnter, can.HoldExit, can.NoHold.Code)
		}
	}
}
