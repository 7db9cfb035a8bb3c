package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// TestStepAllocates: entry and exit of a watched step cost at most two allocations, whatever its fields have.
func TestStepAllocates(t *testing.T) {
	r := newRig(t, Options{})
	go drain(t.Context(), r.watcher(&agentpb.WatchRequest{}))
	p := newPod("default", "web")
	late := r.c.Step("merge.check").ID
	version, phase := p.ResourceVersion, v1.PodRunning
	for name, step := range map[string]func(){
		"sync.pod":        func() { _, _ = wovenStep(p, "sync") },
		"quiet":           func() { wovenLate(late, p, version, phase, true) },
		"late, not quiet": func() { wovenLate(late, p, version, phase, false) },
	} {
		step()
		if n := testing.AllocsPerRun(2000, step); n > 2 {
			t.Errorf("%s costs %v allocations, want 2 at most", name, n)
		}
	}
}

// wovenLate has the shape of a step that publishes its enter only if something
// came of the call.
//
//go:noinline
func wovenLate(id int, p *v1.Pod, version string, phase v1.PodPhase, quiet bool) {
	if s, _ := hook.Enter(id, func(to hook.To) { hook.Put(to, p); hook.Put(to, version); hook.Put(to, int64(1)); hook.Put(to, phase) }); s != nil {
		defer hook.Leave(s, nil, func(to hook.To) {
			if hook.Quiet(to, quiet) {
				return
			}
			hook.Put(to, !quiet)
		})
	}
}

// TestNilCostsTheRest: a nil pointer among the values costs its own field and those after it, but not the fields before
// it, nor the event.
func TestNilCostsTheRest(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	var nothing *v1.Pod
	s, _ := hook.Enter(r.c.Step("vol.spec").ID, func(to hook.To) { hook.Put(to, p); hook.Put(to, "config"); hook.Put(to, nothing.Name) })
	hook.Leave(s, nil, nil)
	events := r.events("web")
	wantNames(t, r.names(events), []string{"ENTER vol.spec", "EXIT vol.spec"})
	if f := events[0].Fields; len(f) != 1 || f[0].GetText() != "config" {
		t.Errorf("the fields are %v, want the first", f)
	}
}
