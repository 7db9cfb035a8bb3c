//go:build node

package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

const examples = "../../../docs/examples/"

// This is the story of docs/examples/web.yaml. Steps on other goroutines than the pod's worker are listed only where
// they must follow the step before them.
var (
	webCreation = slices.Concat([]expected{
		enter("source.api.send", nil),
		exit("merge.merge", values{"op": "ADD"}),
		enter("loop.add", nil),
		enter("admit.add", nil),
		enter("admit.can", nil),
		enter("worker.update", values{"updateType": "create"}),
		enter("worker.loop", nil),
		enter("worker.start", nil),
		enter("worker.turn", values{"updateType": "create", "workType": "sync"}),
		enter("sync.pod", values{"updateType": "create"}),
		enter("sync.genstatus", nil),
		enter("sync.setstatus", values{"phase": "Pending"}),
		enter("sync.cgroup", nil),
		enter("sync.dirs", nil),
		enter("sync.volumes", values{"volumes": 3}),
		enter("sync.pullsecrets", nil),
		enter("sync.probes", nil),
		enter("rt.sync", nil),
		enter("rt.compute", nil),
		enter("rt.sandbox", values{"attempt": 0}),
		enter("cri.RunPodSandbox", nil),
	}, containerStart("init", "init container"), containerStart("app", "container"), []expected{
		enter("status.patch", values{"phase": "Running"}),
	})

	webReady = []expected{
		enter("rt.start", values{"container": "app"}),
		exit("cri.StartContainer", nil),
		enter("status.ready", values{"ready": true}),
		enter("status.patch", values{"phase": "Running"}),
		exit("merge.merge", values{"op": "RECONCILE"}),
	}

	webDeletion = []expected{
		exit("merge.merge", values{"op": "DELETE"}),
		enter("loop.update", nil),
		enter("worker.update", values{"updateType": "update", "deletionGracePeriod": 5}),
		enter("term.terminating", nil),
		enter("term.killpod", nil),
		enter("rt.killcontainer", values{"container": "app"}),
		enter("rt.prestop", values{"container": "app"}),
		enter("cri.ExecSync", nil),
		enter("cri.StopContainer", nil),
		enter("cri.StopPodSandbox", nil),
		enter("worker.cterminating", nil),
		enter("term.terminated", nil),
		enter("term.unmount", nil),
		enter("term.cgroup", nil),
		enter("term.status", nil),
		enter("status.patch", values{"podIsFinished": true}),
		exit("merge.merge", values{"op": "REMOVE"}),
		enter("loop.remove", nil),
		exit("loop.remove", nil),
	}
)

func containerStart(name, typeName string) []expected {
	return []expected{
		enter("rt.start", values{"container": name, "typeName": typeName}),
		enter("image.ensure", nil),
		enter("cri.CreateContainer", values{"container": name}),
		enter("cri.StartContainer", nil),
		exit("cri.StartContainer", nil),
		exit("rt.start", nil),
	}
}

// TestWebStory: podstep trace prints a pod's creation and deletion, both to a client that watches from before, and to
// one that comes later.
func TestWebStory(t *testing.T) {
	l := shared.For(t)
	live := trace(t, l, "web", "--no-history", "--until", "deleted")
	toReady := trace(t, l, "web", "--no-history", "--until", "ready")
	begin := time.Now()
	l.Apply(examples + "web.yaml")
	t.Cleanup(func() {
		if err := l.Client.CoreV1().ConfigMaps("default").Delete(l.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})

	created := toReady.end()
	t.Logf("Ready after %v", time.Since(begin))
	pod := l.Until("web", "Ready at the end of its trace", labtest.Ready)
	uid := string(pod.UID)
	created = eventsOf(uid, created)
	wellFormed(t, created, false)
	found := inOrder(t, created, webCreation)
	for _, e := range found {
		switch {
		case e.Step == "cri.RunPodSandbox":
			sandboxRequest(t, e, uid)
			nests(t, created, e, "rt.measured", "rt.sandbox", "rt.sync", "sync.pod", "worker.turn", "worker.loop")
		case e.Step == "cri.CreateContainer" && e.Kind == probes.Enter:
			containerRequest(t, e)
			nests(t, created, e, "rt.startcontainer", "rt.start", "rt.sync", "sync.pod", "worker.turn", "worker.loop")
		}
	}
	lateReady := eventsOf(uid, parse(t, l.Must("trace", "web", "-o", "json", "--until", "ready")))

	l.Delete("web")
	deleted := eventsOf(uid, live.end())
	// The end of the story, the API server's reports, may come after the trace's end.
	inOrder(t, deleted, webReady)
	t.Logf("deleted after %v", time.Since(begin))
	l.UntilGone("web")
	inOrder(t, deleted, webDeletion)
	same(t, created, deleted)
	same(t, lateReady, deleted)

	whole := untilOver(l, pod)
	last := whole[len(whole)-1]
	t.Logf("over after %v, with the %s of %s", time.Since(begin), last.Kind, last.Step)
	wellFormed(t, whole, true)
	same(t, deleted, whole)
	same(t, deleted, eventsOf(uid, parse(t, l.Must("trace", "web", "-o", "json", "--until", "deleted"))))
	same(t, deleted, eventsOf(uid, l.Story("web")))
}

// sandboxRequest checks that the event of RunPodSandbox shows the request.
func sandboxRequest(t *testing.T, e probes.Event, uid string) {
	t.Helper()
	var request struct {
		Metadata struct{ Name, UID, Namespace string }
	}
	decode(t, e, &request)
	if m := request.Metadata; m.Name != "web" || m.Namespace != "default" || m.UID != uid {
		t.Errorf("cri.RunPodSandbox asks for a sandbox of %+v", m)
	}
}

// containerRequest checks that the event of CreateContainer shows the container's config, but of its environment only
// the names.
func containerRequest(t *testing.T, e probes.Event) {
	t.Helper()
	var request struct {
		Metadata struct{ Name string }
		Command  []string
		Envs     []map[string]any
	}
	decode(t, e, &request)
	if request.Metadata.Name != e.Fields["container"] || len(request.Command) == 0 || len(request.Envs) == 0 {
		t.Errorf("cri.CreateContainer of %v asks for %+v", e.Fields["container"], request)
	}
	for _, env := range request.Envs {
		if _, shown := env["value"]; shown || env["key"] == nil {
			t.Errorf("cri.CreateContainer shows the variable %v", env)
		}
	}
}

func decode(t *testing.T, e probes.Event, request any) {
	t.Helper()
	text, err := json.Marshal(e.Fields["request"])
	if err == nil {
		err = json.Unmarshal(text, request)
	}
	if err != nil {
		t.Fatalf("the request of %s at %d: %v", e.Step, e.Seq, err)
	}
}
