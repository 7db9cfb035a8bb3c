//go:build sim

package lab_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/whatif"
	"github.com/podstep/podstep/probes"
)

// asked is an answer of podstep whatif.
type asked struct {
	Name   string         `json:"name"`
	Inputs *whatif.Inputs `json:"inputs"`
	whatif.Answer
}

func ask(t *testing.T, l *labtest.Lab, args ...string) asked {
	t.Helper()
	out, errors, code := l.Podstep(append([]string{"whatif", "-o", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("podstep whatif %v ends with %d: %s", args, code, errors)
	}
	var a asked
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatalf("podstep whatif %v: %v in %s", args, err, out)
	}
	if !a.Compared || !a.Same {
		t.Errorf("podstep whatif %v: compared %v, same %v: %v", args, a.Compared, a.Same, a.Mismatch)
	}
	return a
}

// TestSimWhatif asks the whole way, from pods that live to the plans that they would have had, and makes all plans that
// the node has recorded anew.
func TestSimWhatif(t *testing.T) {
	l := labtest.StartSim(t)
	l.Create(labtest.BusyboxPod("web", "sleep 1000"))
	l.Create(labtest.BusyboxPod("ends", "exit 3"))
	l.UntilReady("web")
	l.UntilEvent("ends", "start again", func(e probes.Event) bool {
		return e.Step == whatif.Step && e.Kind == probes.Exit && e.Fields["containersToStart"] == "[0]" && e.Fields["createSandbox"] == false
	})

	if a := ask(t, l, "web"); a.Name != "web" || a.Before.KillPod || len(a.Before.ToStart) > 0 || len(a.Changes) > 0 {
		t.Errorf("the last plan of web is %+v", a.Before)
	}
	name := ask(t, l, "web").Inputs.Spec.Containers[0].Name
	a := ask(t, l, "web", "--set", "spec.restartPolicy=Never", "--set", "status.containers["+name+"].liveness=Failure")
	if k := a.After.ToKill; !a.After.KillPod || len(k) != 1 || k[0].Reason != "LivenessProbe" || k[0].Message != "Container "+name+" failed liveness probe" {
		t.Errorf("the plan is %+v", a.After)
	}
	i := slices.IndexFunc(a.Rows, func(r whatif.Row) bool { return r.Subject == "pod" })
	if strings.Join(a.Rows[i].Because, " ") != "spec.restartPolicy status.containers["+name+"].liveness" {
		t.Errorf("the pod is killed because of %v", a.Rows[i].Because)
	}
	a = ask(t, l, "web", "--like", "ends")
	if len(a.After.ToStart) != 1 && !a.After.CreateSandbox {
		t.Errorf("like ends, which has exited, the plan is %+v; changes %v", a.After, a.Changes)
	}

	file := filepath.Join(t.TempDir(), "whatif.podstep")
	if out, errors, code := l.Podstep("trace", "--step", whatif.Step, "--for", "1s", "-q", "-w", file); code != 0 {
		t.Fatalf("podstep trace: %s%s", out, errors)
	}
	a = ask(t, l, "ends", "--trace", file, "--sync", "1")
	if !a.Before.CreateSandbox || len(a.Before.ToStart) != 1 {
		t.Errorf("the first plan of ends is %+v", a.Before)
	}
	allPlansAgain(t, l, file)
}

// allPlansAgain asks about each plan of a recording.
func allPlansAgain(t *testing.T, l *labtest.Lab, file string) {
	t.Helper()
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	err = whatif.Each(r.Header().Info, r, nil, func(f *whatif.Found) {
		if f.Inputs == nil {
			t.Errorf("%s, sync %d: %s", f.Pod.Name, f.Sync, f.Without)
			return
		}
		n++
		ask(t, l, f.Pod.NamespacedName(), "--trace", file, "--sync", fmt.Sprint(f.Sync))
	})
	if err != nil || n < 4 {
		t.Errorf("%d plans: %v", n, err)
	}
}
