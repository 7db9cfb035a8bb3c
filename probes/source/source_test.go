package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestEveryStep: each step has its function, with the lines where they are.
func TestEveryStep(t *testing.T) {
	for _, s := range probes.MustLoad().Steps {
		e, ok := Of(s.Name)
		if s.Outside() {
			if ok {
				t.Errorf("%s is no function, but has source", s.Name)
			}
			continue
		}
		if !ok {
			t.Errorf("no source of %s; run go generate ./probes/source", s.Name)
			continue
		}
		if e.File != s.File || e.Module == "" || !strings.HasPrefix(e.Version, "v") {
			t.Errorf("%s is from %s %s, %s", s.Name, e.Module, e.Version, e.File)
		}
		if e.Func < e.Line || e.Func >= e.Line+len(e.Lines) || len(e.Lines) > MaxLines {
			t.Errorf("%s begins in line %d, of %d lines from %d on", s.Name, e.Func, len(e.Lines), e.Line)
			continue
		}
		if first := e.Lines[e.Func-e.Line]; !strings.Contains(first, "func") {
			t.Errorf("%s begins with %q", s.Name, first)
		}
		if last := e.Lines[len(e.Lines)-1]; !e.Cut && !strings.HasPrefix(strings.TrimSpace(last), "}") {
			t.Errorf("%s ends with %q", s.Name, last)
		}
	}
	if _, ok := Of("no.such.step"); ok {
		t.Error("a step that is not there has source")
	}
}

func TestVersion(t *testing.T) {
	if e, _ := Of("sync.pod"); e.Module != "k8s.io/kubernetes" || e.Version != probes.KubernetesVersion {
		t.Errorf("sync.pod is from %s %s, the catalogue from %s", e.Module, e.Version, probes.KubernetesVersion)
	}
}

// TestCalls looks at calls of each kind: of a method, a function, a literal,
// by way of another function, and of a namesake.
func TestCalls(t *testing.T) {
	for _, c := range []struct{ step, callee, want string }{
		{"rt.sandbox", "cri.RunPodSandbox", "m.runtimeService.RunPodSandbox(ctx,"},
		{"merge.merge", "merge.firstseen", "recordFirstSeenTime(logger, ref)"},
		{"worker.loop", "worker.turn", "err := func() error {"},
		{"rt.sync", "rt.start", `start(ctx, "container",`},
		{"worker.update", "worker.loop", "p.podWorkerLoop("},
		{"loop.start", "loop.add", "kl.syncLoopIteration("},
		{"loop.add", "pm.add", "kl.podManager.AddPod("},
		{"loop.add", "admit.add", "kl.allocationManager.AddPod("},
	} {
		e, _ := Of(c.step)
		var got []string
		for _, line := range e.Calls(c.callee) {
			got = append(got, strings.TrimSpace(e.Lines[line-e.Line]))
		}
		if !slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, c.want) }) {
			t.Errorf("%s leads to %s by %q, want a line with %s", c.step, c.callee, got, c.want)
		}
		if c.callee == "pm.add" && len(got) != 1 {
			t.Errorf("%s is called by %q", c.callee, got)
		}
	}
	if e, _ := Of("sync.pod"); e.Calls("merge.merge") != nil {
		t.Error("SyncPod does not call merge")
	}
}

func TestCallsAreInTheFunction(t *testing.T) {
	for _, s := range probes.MustLoad().Steps {
		e, _ := Of(s.Name)
		for callee, lines := range e.calls {
			for _, l := range lines {
				if l < e.Func || l >= e.Line+len(e.Lines) && !e.Cut {
					t.Errorf("%s calls %s in line %d, outside of it", s.Name, callee, l)
				}
			}
			if !slices.IsSorted(lines) {
				t.Errorf("%s calls %s in lines %v", s.Name, callee, lines)
			}
		}
	}
}

func TestUnpackBad(t *testing.T) {
	for _, bad := range [][]byte{nil, []byte("no gzip"), packed[:len(packed)/2]} {
		if _, err := Unpack(bad); err == nil {
			t.Errorf("%d bytes that are no data were unpacked", len(bad))
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		if _, err := Unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}
