//go:build node

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// heldInOthers are the steps at which the pod of the example is held in each woven kubelet of another version, in the order
// in which it comes to them. No function that takes a lock is under way there in any of the versions.
var heldInOthers = []string{"sync.pod", "sync.volumes", "rt.sandbox", "cri.RunPodSandbox", "cri.StartContainer"}

// otherKubelets returns the woven kubelets of other versions in PODSTEP_BIN, by version.
func otherKubelets(t *testing.T) map[string]string {
	t.Helper()
	const prefix = "podstep-kubelet-"
	files, err := filepath.Glob(filepath.Join(os.Getenv("PODSTEP_BIN"), prefix+"v*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(filepath.Base(file), prefix)] = path
	}
	if len(out) == 0 {
		t.Skip("PODSTEP_BIN has no woven kubelet of another version: run make woven")
	}
	return out
}

// TestOtherVersions: a woven kubelet of another version shows a pod's creation and deletion, and holds the pod.
func TestOtherVersions(t *testing.T) {
	for version, kubelet := range otherKubelets(t) {
		t.Run(version, func(t *testing.T) {
			l := labtest.Start(t, "--kubelet", kubelet)
			if info, err := l.Agent().Info(t.Context(), &agentpb.InfoRequest{}); err != nil || info.GetKubeletVersion() != version {
				t.Fatalf("the agent is in kubelet %q, %v, want %s", info.GetKubeletVersion(), err, version)
			}
			l.Apply(examples + "web.yaml")
			pod := l.UntilReady("web")
			inOrder(t, eventsOf(string(pod.UID), l.Story("web")), webCreation)
			l.Delete("web")
			l.UntilGone("web")
			story := untilOver(l, pod)
			wellFormed(t, story, true)
			inOrder(t, story, webDeletion)
			holdInOther(t, l)
			l.Tried("woven")
		})
	}
}

// holdInOther holds a pod at one step after the other, and looks how long.
func holdInOther(t *testing.T, l *labtest.Lab) {
	t.Helper()
	const name, lease = "held", 2 * time.Second
	for _, step := range heldInOthers {
		addBreak(t, l, "default/"+name, "--step", step, "--times", "1", "--lease", lease.String())
	}
	createWeb(t, l, name)
	pod := l.UntilReady(name)
	var held []string
	for _, e := range eventsOf(string(pod.UID), l.Story(name)) {
		if e.Kind != probes.Released {
			continue
		}
		held = append(held, e.Step)
		if took := time.Duration(e.DurationNs); took < lease {
			t.Errorf("at %s it was held for %v, want %v", e.Step, took, lease)
		}
	}
	if !slices.Equal(held, heldInOthers) {
		t.Errorf("the pod was held at %v, want %v", held, heldInOthers)
	}
	l.Delete(name)
	l.UntilGone(name)
}
