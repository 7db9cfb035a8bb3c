package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestReportedState: the state of a pod follows from what the cluster and the runtime say of it. A report's values are
// in the order of the catalogue's fields.
func TestReportedState(t *testing.T) {
	type report struct {
		step   string
		values []any
		err    error
	}
	bound := report{"cluster.bound", []any{"node-1", int64(1), []string{"a"}, "", ""}, nil}
	phase := func(p string) report { return report{"reported.phase", []any{p, "", "", "", ""}, nil} }
	named := func(name string, err error) report {
		reason := "ContainerCreating"
		if err != nil {
			reason = "ErrImagePull"
		}
		return report{"reported.container", []any{name, "waiting", reason, "", nil, int64(0), false, "", nil, "", ""}, err}
	}
	container := func(err error) report { return named("a", err) }
	run := func(err error) report { return report{"cri.RunPodSandbox", []any{nil, "runc"}, err} }
	bad := errors.New("no image")
	kubelet := func(known bool) report { return report{"cluster.kubelet", []any{known, "api", "", ""}, nil} }
	sandbox := func(ready bool) report { return report{"cluster.sandbox", []any{"s1", ready, "", ""}, nil} }
	for name, c := range map[string]struct {
		reports []report
		want    string // empty: it is gone
	}{
		"bound":           {[]report{bound}, "waiting"},
		"runs":            {[]report{bound, phase("Running")}, "waiting"},
		"has ended":       {[]report{bound, phase("Running"), phase("Succeeded")}, "done"},
		"cannot start":    {[]report{bound, phase("Pending"), container(errors.New("no image"))}, "retry"},
		"starts":          {[]report{bound, container(errors.New("no image")), container(nil)}, "waiting"},
		"one of two":      {[]report{bound, named("a", bad), named("b", nil)}, "retry"},
		"one of two left": {[]report{bound, named("a", bad), named("b", bad), named("b", nil)}, "retry"},
		"both start":      {[]report{bound, named("a", bad), named("b", bad), named("a", nil), named("b", nil)}, "waiting"},
		"a call does too": {[]report{bound, run(bad), named("a", bad), run(nil)}, "retry"},
		"a call alone":    {[]report{bound, run(bad), named("a", nil)}, "retry"},
		"all do well":     {[]report{bound, run(bad), named("a", bad), run(nil), named("a", nil)}, "waiting"},
		"is gone":         {[]report{bound, phase("Running"), kubelet(false)}, ""},
		"comes back":      {[]report{bound, kubelet(false), kubelet(true)}, "waiting"},
		"was left over":   {[]report{sandbox(false)}, ""},
		"was there":       {[]report{sandbox(true)}, "waiting"},
		"is wanted again": {[]report{sandbox(false), bound}, "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{Probes: seesCalls()})
			p := newPod("default", "web")
			for _, rep := range c.reports {
				var about any = p
				if rep.step == "cluster.sandbox" || rep.step == "cri.RunPodSandbox" {
					about = sandboxOf(p)
				}
				r.Begin(Seen{Step: rep.step, At: time.Now(), Values: append([]any{about}, rep.values...)}).End(time.Now(), rep.err, []any{false})
			}
			if got := r.stateOf(p).GetState(); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			_, err := r.onePod(&agentpb.PodSelector{Name: "web"})
			if gone := err != nil; gone != (c.want == "") {
				t.Errorf("to be chosen it is %v", err)
			}
		})
	}
}
