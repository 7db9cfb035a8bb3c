package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/lab/faults"
	"github.com/podstep/podstep/lab/filefaults"
)

// Fault is one call of a life, broken in one way.
type Fault struct {
	Life   string        `json:"life"`
	Op     faults.Op     `json:"op"`
	Action faults.Action `json:"action"`
	// Always breaks all later calls of the same kind, too.
	Always bool `json:"always"`
}

// ID names the fault in all runs, such as "create/cri StartContainer app #1/hang/once".
func (f Fault) ID() string {
	often := "once"
	if f.Always {
		often = "always"
	}
	return fmt.Sprintf("%s/%s/%s/%s", f.Life, f.Op, f.Action, often)
}

// rule returns the rule that brings the fault about. marker is in each error that it makes.
func (f Fault) rule(marker string) *faults.Rule {
	return &faults.Rule{Call: f.Op.Call, From: f.Op.N, Always: f.Always, Action: f.Action, Text: "broken on purpose, " + marker}
}

// alone reports whether a fault may hold up the whole node, so that nothing else is explored at the same time.
func (f Fault) alone() bool { return slow(f.Action) && holdsUp(f.Op.Call) || nobodys(f.Op.Call) }

// nobodys reports whether a call names no pod. It is known whose it is only while no other pod makes such calls.
func nobodys(c faults.Call) bool {
	return c.Side == faults.Plugin && (c.Method == "NodeGetCapabilities" || slices.Contains(deviceCalls, c.Method))
}

// slow reports whether a call that is broken so takes long. The kubelet's client tries a request again by itself, many
// times, before it returns the status 429.
func slow(a faults.Action) bool {
	return a == faults.Hang || a == faults.Late || a == faults.TooManyRequests
}

// holdsUp reports whether a call that does not return may hold up the whole node: the kubelet looks at one pod after the
// other with it, looks for the volumes of one pod after the other, or sends what is about all pods from one goroutine.
func holdsUp(c faults.Call) bool {
	switch c.Side {
	case faults.File:
		return c.Method == filefaults.Open && strings.HasSuffix(c.Object, "/LOG") // PLEG reads it
	case faults.CRI:
		return slices.Contains([]string{"ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus"}, c.Method)
	}
	return slices.Contains([]string{"get pods", "patch pods/status", "delete pods", "create events", "patch events", "get persistentvolumeclaims", "get persistentvolumes"}, c.Method)
}

// worthwhile leaves out faults that would take the whole node's time and show nothing new: of calls that may hold up the
// node, the first one hangs once, since it does not return within the time of a trial anyway. Where the kubelet is
// restarted, faults last: a single one passes with the kubelet's next try, as in other lives.
func (f Fault) worthwhile() bool {
	if lifeOf(f.Life).restarts && !f.Always && f.Action != faults.Hang {
		return false
	}
	if f.Op.Side == faults.File { // there are many, and what fails once is mostly tried again
		return f.Op.N == 1 && (f.Always || f.Action == faults.Hang || f.Action == faults.IOError)
	}
	if nobodys(f.Op.Call) {
		return f.Always || f.Action == faults.Hang && f.Op.N == 1
	}
	if !holdsUp(f.Op.Call) {
		return true
	}
	return !slow(f.Action) || f.Action == faults.Hang && f.Op.N == 1 && !f.Always || f.Action == faults.TooManyRequests && f.Always
}

// maxN bounds which of the calls of one kind are broken: those that repeat are looked at twice.
const maxN = 2

// faultsOf returns the faults of a life, from the calls that were seen in it: one side after the other, plain faults
// before odd ones, faults that last before those that pass.
func faultsOf(life *Life, seen []faults.Op) (out []Fault) {
	var ops []faults.Op
	for _, o := range seen {
		if o.N <= maxN && life.breaks(o.Call) && !slices.Contains(ops, o) {
			ops = append(ops, o)
		}
	}
	for _, side := range []faults.Side{faults.CRI, faults.API, faults.Plugin, faults.Exec, faults.File} {
		for _, action := range faults.Actions(side) {
			for _, o := range ops {
				if o.Side != side || !faults.Fits(o.Call, action) {
					continue
				}
				for _, f := range []Fault{{life.Name, o, action, true}, {life.Name, o, action, false}} {
					if (!f.Always || o.N == 1) && f.worthwhile() {
						out = append(out, f)
					}
				}
			}
		}
	}
	return out
}

// mix takes the faults of several lives in turn, so that a run that ends early has tried some of each.
func mix(all [][]Fault) (out []Fault) {
	for i := 0; ; i++ {
		n := len(out)
		for _, of := range all {
			if i < len(of) {
				out = append(out, of[i])
			}
		}
		if len(out) == n {
			return out
		}
	}
}

// sample chooses n faults evenly; 0: all.
func sample(all []Fault, n int) []Fault {
	if n <= 0 || n >= len(all) {
		return all
	}
	out := make([]Fault, 0, n)
	for i := range n {
		out = append(out, all[i*len(all)/n])
	}
	return out
}
