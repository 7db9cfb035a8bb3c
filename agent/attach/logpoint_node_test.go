//go:build node

package attach_test

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestLogsOfCalls: logs at steps inside an unmodified kubelet, and at its calls to the runtime, put values into the story, with
// an agent that may hold nobody.
func TestLogsOfCalls(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l, "--probe", "uprobe,cri,api")
	if _, text, code := l.Podstep("break", "add", "default/logged", "--step", "sync.pod"); code == 0 {
		t.Errorf("an agent without --allow-holds takes a hold inside the kubelet: %s", text)
	}
	for _, args := range [][]string{
		{"--step", "sync.pod", "--on", "exit", "--action", "log=updateType,took"},
		{"--step", "cri.CreateContainer", "--on", "exit", "--action", "log", "--if", "pod=logged"},
		{"--step", "cri.PullImage", "--action", "log", "--if", "pod=other"},
	} {
		l.Must(append([]string{"break", "add", "default/logged"}, args...)...)
	}
	l.Create(labtest.TinyPod("logged"))
	l.UntilReady("logged")
	want := map[string]bool{"sync.pod": false, "cri.CreateContainer": false}
	l.UntilEvent("logged", "note of a log", func(e probes.Event) bool {
		// The first turn of the worker is a create.
		if e.Kind == probes.Note && e.Fields["note"] == agentpb.NoteLog && e.DurationNs > 0 && (e.Step != "sync.pod" || e.Fields["updateType"] == "create") {
			delete(want, e.Step)
		}
		return len(want) == 0
	})
	l.Delete("logged")
	l.UntilGone("logged")
	a.End(syscall.SIGINT)
	a.left()
}
