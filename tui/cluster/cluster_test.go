package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: x}
---
apiVersion: batch/v1
kind: Job
metadata: {name: b}
`

// begin begins a run with a known label.
func begin(c *Cluster) *Run {
	r := c.Begin("w")
	r.id = "w.1"
	return r
}

func TestCreateAndUndo(t *testing.T) {
	s, c := start(t)
	r := begin(c)
	if err := r.Do(t.Context(), &tours.Action{Do: tours.Create, Manifest: manifest}); err != nil {
		t.Fatal(err)
	}
	s.called(t,
		`POST /api/v1/namespaces/x/configmaps?fieldManager=podstep {"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"podstep.dev/walk":"w.1"},"name":"a","namespace":"x"}}`,
		`POST /apis/batch/v1/namespaces/default/jobs?fieldManager=podstep {"apiVersion":"batch/v1","kind":"Job","metadata":{"labels":{"podstep.dev/walk":"w.1"},"name":"b"}}`)
	if want := []string{"configmap x/a", "job default/b"}; !slices.Equal(r.Made(), want) {
		t.Errorf("the run made %v, want %v", r.Made(), want)
	}
	if err := r.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.called(t,
		`DELETE /apis/batch/v1/namespaces/default/jobs/b {"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","preconditions":{"uid":"uid-2"}}`,
		`DELETE /api/v1/namespaces/x/configmaps/a {"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","preconditions":{"uid":"uid-1"}}`)
	if len(r.Made()) != 0 {
		t.Errorf("after that %v is there", r.Made())
	}
}

const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {x: 0}}"

// podPath is the path of the pod at the API server.
const podPath = "/api/v1/namespaces/default/pods/web"

func TestPatchAndDelete(t *testing.T) {
	s, c := start(t)
	r := begin(c)
	grace := int64(0)
	del := &tours.Action{Do: tours.Delete, Object: "pod/default/web", Grace: &grace}
	resize := &tours.Action{Do: tours.Resize, Object: "pod/default/web", Manifest: "[{op: replace, path: /spec/x, value: 1}]"}
	for _, a := range []*tours.Action{{Do: tours.Create, Manifest: pod}, resize, del} {
		if err := r.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	s.called(t,
		`POST /api/v1/namespaces/default/pods?fieldManager=podstep {"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"podstep.dev/walk":"w.1"},"name":"web"},"spec":{"x":0}}`,
		`PATCH /api/v1/namespaces/default/pods/web/resize?fieldManager=podstep [{"op":"test","path":"/metadata/uid","value":"uid-1"},{"op":"replace","path":"/spec/x","value":1}]`,
		`DELETE /api/v1/namespaces/default/pods/web {"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","gracePeriodSeconds":0,"preconditions":{"uid":"uid-1"}}`)
	if err := r.Do(t.Context(), del); err == nil {
		t.Error("what the run has deleted is deleted again")
	}
}

// TestRefusesOthers: a run refuses to do anything to an object that it did not make, and sends the API server no
// request for it.
func TestRefusesOthers(t *testing.T) {
	s, c := start(t)
	s.put(podPath, map[string]any{"metadata": map[string]any{"name": "web"}})
	file := filepath.Join(c.Dir, "manifests", "s.yaml")
	pressure := filepath.Join(c.Dir, "pressure")
	for _, path := range []string{file, pressure} {
		if err := os.WriteFile(path, []byte("yours"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(c)
	for _, a := range []*tours.Action{
		{Do: tours.Delete, Object: "pod/default/web"},
		{Do: tours.Patch, Object: "pod/default/web", Manifest: "[{op: remove, path: /spec}]"},
		{Do: tours.Resize, Object: "pod/default/web", Manifest: "[{op: remove, path: /spec}]"},
		{Do: tours.WriteStatic, Object: "s.yaml", Manifest: pod},
		{Do: tours.RemoveStatic, Object: "s.yaml"},
		{Do: tours.Pressure, Object: "memory.available=1Mi"},
		{Do: tours.Relieve},
	} {
		if err := r.Do(t.Context(), a); err == nil {
			t.Errorf("%s is done to what the run did not make", a.Do)
		}
	}
	s.called(t)
	var taken *TakenError
	if err := r.Do(t.Context(), &tours.Action{Do: tours.Create, Manifest: pod}); !errors.As(err, &taken) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := r.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	for _, path := range []string{file, pressure} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "yours" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if metaOf(s.objects[podPath])["uid"] != "uid-1" {
		t.Error("the pod is gone")
	}
}

// TestReplaced: a run neither changes nor deletes an object that got the name of its own. A file that was changed
// stays, too.
func TestReplaced(t *testing.T) {
	s, c := start(t)
	r := begin(c)
	for _, a := range []*tours.Action{{Do: tours.Create, Manifest: pod}, {Do: tours.WriteStatic, Object: "s.yaml", Manifest: pod}} {
		if err := r.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	s.put(podPath, map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"x": "yours"}})
	file := filepath.Join(c.Dir, "manifests", "s.yaml")
	if err := os.WriteFile(file, []byte("yours"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), &tours.Action{Do: tours.Patch, Object: "pod/default/web", Manifest: "[{op: replace, path: /spec/x, value: 1}]"}); err == nil {
		t.Error("the other pod was patched")
	}
	if err := r.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody has changed") {
		t.Errorf("Undo with a changed file: %v", err)
	}
	if o := s.objects[podPath]; o == nil || o["spec"].(map[string]any)["x"] != "yours" {
		t.Errorf("the other pod is %v now", o)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "yours" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestMine(t *testing.T) {
	_, c := start(t)
	r := begin(c)
	static := "{apiVersion: v1, kind: Pod, metadata: {name: s}}"
	for _, a := range []*tours.Action{{Do: tours.Create, Manifest: pod}, {Do: tours.WriteStatic, Object: "s.yaml", Manifest: static}, {Do: tours.Pressure, Object: "memory.available=1Mi"}} {
		if err := r.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		pod  probes.Pod
		want bool
	}{
		{probes.Pod{Namespace: "default", Name: "web", UID: "uid-1"}, true},
		{probes.Pod{Namespace: "default", Name: "web", UID: "another"}, false},
		{probes.Pod{Namespace: "default", Name: "s-node-1", UID: "whatever"}, true},
		{probes.Pod{Namespace: "other", Name: "s-node-1"}, false},
		{probes.Pod{Namespace: "default", Name: "-node-1"}, false},
	} {
		if got := r.Mine(&c.pod); got != c.want {
			t.Errorf("%+v is the run's: %v", c.pod, got)
		}
	}
}

func TestStaticAndPressure(t *testing.T) {
	_, c := start(t)
	r := begin(c)
	is := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(c.Dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	for _, step := range []struct {
		do   tours.Do
		file string
		want bool
	}{
		{tours.WriteStatic, "manifests/s.yaml", true}, {tours.RemoveStatic, "manifests/s.yaml", false},
		{tours.Pressure, "pressure", true}, {tours.Relieve, "pressure", false},
		{tours.WriteStatic, "manifests/s.yaml", true}, {tours.Pressure, "pressure", true},
	} {
		object := "s.yaml"
		if step.do == tours.Pressure {
			object = "memory.available=1Mi"
		}
		if err := r.Do(t.Context(), &tours.Action{Do: step.do, Object: object, Manifest: pod}); err != nil {
			t.Fatalf("%s: %v", step.do, err)
		}
		is(step.file, step.want)
	}
	if err := r.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	is("manifests/s.yaml", false)
	is("pressure", false)
	if err := r.Do(t.Context(), &tours.Action{Do: tours.WriteStatic, Object: "../../etc/x", Manifest: pod}); err != nil {
		t.Fatal(err)
	}
	is("manifests/x", true)
	entries, err := os.ReadDir(filepath.Join(c.Dir, "manifests"))
	if err != nil || len(entries) != 1 {
		t.Errorf("next to it there is %v, %v", entries, err)
	}
}

func TestNoCluster(t *testing.T) {
	c := Find(filepath.Join(t.TempDir(), "agent.sock"), "", "")
	for _, do := range []tours.Do{tours.Create, tours.WriteStatic, tours.Pressure} {
		if err := c.Begin("w").Do(t.Context(), &tours.Action{Do: do, Manifest: manifest, Object: "x"}); err == nil {
			t.Errorf("%s works without a cluster", do)
		}
	}
	dir := t.TempDir()
	for state, want := range map[string]bool{`{"devices": 2}`: true, `{}`: false, "{": false} {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o644); err != nil {
			t.Fatal(err)
		}
		if c := Find(filepath.Join(dir, "agent.sock"), "", ""); c.Dir != dir || c.HasDevices() != want {
			t.Errorf("of a lab with the state %s it is %+v", state, c)
		}
	}
	if c := Find("/nowhere/agent.sock", "mine", "env"); c.Kubeconfig != "mine" {
		t.Errorf("kubeconfig is %s", c.Kubeconfig)
	}
	if c := Find("/nowhere/agent.sock", "", "env"); c.Kubeconfig != "env" || c.Dir != "" {
		t.Errorf("cluster is %+v", c)
	}
}

func TestBrokenManifests(t *testing.T) {
	_, c := start(t)
	for _, text := range []string{"a: [", "kind: Pod", "- x", "metadata: {name: x}", "{kind: Unicorn, metadata: {name: x}}"} {
		if err := c.Begin("w").Do(t.Context(), &tours.Action{Do: tours.Create, Manifest: text}); err == nil {
			t.Errorf("%q is created", text)
		}
	}
}
