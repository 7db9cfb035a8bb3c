//go:build sim

package stuck

import (
	"flag"
	"os"
	"testing"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/labtest"
)

// shared is a node for all cases that do not disturb others.
var shared = labtest.NewShared(labtest.LaunchSim)

// How many cases run at one time: they wait more than they work.
var (
	onShared = make(limit, 8) // on the shared node
	onOwn    = make(limit, 3) // on nodes of their own
)

// limit bounds how many tests run at one time.
type limit chan struct{}

// claim waits for a place. The test has it until it ends.
func (l limit) claim(tb testing.TB) {
	l <- struct{}{}
	tb.Cleanup(func() { <-l })
}

func TestMain(m *testing.M) {
	flag.Parse()
	// The limits bound the cases; the number of processors does not.
	if err := flag.Set("test.parallel", "100"); err != nil {
		panic(err)
	}
	os.Exit(shared.Main(m))
}

// simSources returns the sources on a sim lab, whose kubelet is woven.
func simSources(tb testing.TB, l *labtest.Lab, way Way) gather.From {
	from := gather.From{API: Client(tb, l)}
	if way == Woven {
		from.More = append(from.More, &gather.Agent{Node: fleet.Socket("", l.State.Agent)})
	}
	return from
}

// inLab runs cases on the shared node, beside those of other tests.
func inLab(t *testing.T, cases []Case) {
	t.Parallel()
	Run(t, func(tb testing.TB) *labtest.Lab {
		onShared.claim(tb)
		return shared.For(tb)
	}, cases, simSources, "lab", API, Woven)
}

// alone runs each case on a node of its own.
func alone(t *testing.T, cases []Case, flags ...string) {
	t.Parallel()
	for i := range cases {
		cases[i].alone = true
	}
	Run(t, func(tb testing.TB) *labtest.Lab {
		onOwn.claim(tb)
		return labtest.StartSim(tb, flags...)
	}, cases, simSources, "lab", API, Woven)
}
