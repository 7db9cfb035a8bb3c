package agent

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestReportedState: how a pod is, by what the cluster and the runtime say of it.
// A report's values are as the catalogue has its fields.
func TestReportedState(t *testing.T) {
	type report struct {
		step   string
		values []any
		err    error
	}
	bound := report{"cluster.bound", []any{"node-1", int64(1), []string{"a"}, "", ""}, nil}
	phase := func(p string) report { return report{"reported.phase", []any{p, "", "", "", ""}, nil} }
	named := func(name string, err error) report {
		return report{"reported.container", []any{name, "waiting", "", "", nil, int64(0), false, "", nil, "", ""}, err}
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
		"cannot start":    {[]report{bound, phase("Pending"), container(errors.New("no image"))}, "stuck"},
		"starts":          {[]report{bound, container(errors.New("no image")), container(nil)}, "waiting"},
		"one of two":      {[]report{bound, named("a", bad), named("b", nil)}, "stuck"},
		"one of two left": {[]report{bound, named("a", bad), named("b", bad), named("b", nil)}, "stuck"},
		"both start":      {[]report{bound, named("a", bad), named("b", bad), named("a", nil), named("b", nil)}, "waiting"},
		"a call does too": {[]report{bound, run(bad), named("a", bad), run(nil)}, "stuck"},
		"a call alone":    {[]report{bound, run(bad), named("a", nil)}, "stuck"},
		"all do well":     {[]report{bound, run(bad), named("a", bad), run(nil), named("a", nil)}, "waiting"},
		"is gone":         {[]report{bound, phase("Running"), kubelet(false)}, ""},
		"comes back":      {[]report{bound, kubelet(false), kubelet(true)}, "waiting"},
		"was left over":   {[]report{sandbox(false)}, ""},
		"was there":       {[]report{sandbox(true)}, "waiting"},
		"is wanted again": {[]report{sandbox(false), bound}, "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			p := newPod("default", "web")
			for _, said := range c.reports {
				var about any = p
				if said.step == "cluster.sandbox" || said.step == "cri.RunPodSandbox" {
					about = sandboxOf(p)
				}
				r.Begin(Seen{Step: said.step, At: time.Now(), Values: append([]any{about}, said.values...)}).End(time.Now(), said.err, []any{false})
			}
			if got := r.stateOf(p).GetState(); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			_, err := r.one(&agentpb.PodSelector{Name: "web"})
			if gone := err != nil; gone != (c.want == "") {
				t.Errorf("to be chosen it is %v", err)
			}
		})
	}
}

// TestErrorThatIsLeft: of several the latest is shown, and few are kept.
func TestErrorThatIsLeft(t *testing.T) {
	w, step := &podWhere{}, &stepInfo{}
	say := func(container, err, want string) {
		t.Helper()
		w.tell(trouble{step, container, err}, 1)
		if got := stringOf(&w.err); got != want {
			t.Errorf("after %q of %q it is %q, want %q", err, container, got, want)
		}
	}
	say("a", "", "")
	say("a", "no a", "no a")
	say("b", "no b", "no b")
	say("c", "", "no b")
	say("a", "still no a", "still no a")
	say("a", "", "no b")
	say("b", "", "")
	for i := range 1000 {
		say(strconv.Itoa(i), "no", "no")
	}
	if n := len(w.troubles.all); n != maxTroubles {
		t.Errorf("%d errors are kept", n)
	}
}
