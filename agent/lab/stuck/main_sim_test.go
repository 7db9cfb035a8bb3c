//go:build sim

package stuck

import (
	"flag"
	"os"
	"testing"

	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/lab/labtest"
)

// shared is a node for all cases that bear others beside them.
var shared = labtest.NewShared(labtest.LaunchSim)

// atOnce is how many cases come about at one time: they wait more than they work.
const atOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	os.Exit(shared.Main(m))
}

// simSources gives where to look on a sim lab: its kubelet is woven.
func simSources(tb testing.TB, l *labtest.Lab, way Way) gather.From {
	from := gather.From{API: Client(tb, l)}
	if way == Woven {
		from.More = append(from.More, &gather.Agent{Socket: l.State.Agent})
	}
	return from
}

// inLab runs cases on the shared node, beside those of other tests.
func inLab(t *testing.T, cases []Case) {
	t.Parallel()
	Run(t, shared.For(t), cases, simSources, "lab", API, Woven)
}

// alone runs each case on a node of its own.
func alone(t *testing.T, cases []Case, flags ...string) {
	for i := range cases {
		cases[i].alone = true
		Run(t, labtest.StartSim(t, flags...), cases[i:i+1], simSources, "lab", API, Woven)
	}
}
