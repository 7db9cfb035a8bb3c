package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/podstep/podstep/docs/tours"
)

// server is an API server that knows a few kinds and remembers what it was told.
type server struct {
	mu      sync.Mutex
	calls   []string
	objects map[string]bool
	// mirrors is how often yet the pods of a namespace are listed with a mirror.
	mirrors int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/api/v1":
		fmt.Fprint(w, `{"resources":[{"name":"pods","kind":"Pod","namespaced":true},{"name":"pods/log","kind":"Pod","namespaced":true},
			{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"nodes","kind":"Node"}]}`)
		return
	case "/apis/batch/v1":
		fmt.Fprint(w, `{"resources":[{"name":"jobs","kind":"Job","namespaced":true}]}`)
		return
	case "/api/v1/namespaces/default/pods":
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"s-other"}}`)
		if s.mirrors > 0 {
			s.mirrors--
			fmt.Fprint(w, `,{"metadata":{"name":"s-node-1","annotations":{"kubernetes.io/config.mirror":"x"}}}`)
		}
		fmt.Fprint(w, `]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodGet {
		s.calls = append(s.calls, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	}
	switch {
	case r.Method == http.MethodPatch:
		s.objects[r.URL.Path] = true
	case !s.objects[r.URL.Path]:
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(map[string]string{"message": r.URL.Path + " not found"})
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
	}
}

func (s *server) called(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.calls, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(s.calls, "\n"), strings.Join(want, "\n"))
	}
	s.calls = nil
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`

func start(t *testing.T) (*server, *Cluster) {
	t.Helper()
	s := &server{objects: map[string]bool{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, h.URL), "state.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s, Find(filepath.Join(dir, "agent.sock"), "", "")
}

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: x}
---
apiVersion: batch/v1
kind: Job
metadata: {name: b}
`

func TestApplyAndUndo(t *testing.T) {
	s, c := start(t)
	apply := &tours.Action{Do: tours.Apply, Manifest: manifest}
	if err := c.Do(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	s.called(t,
		`PATCH /api/v1/namespaces/x/configmaps/a?fieldManager=podstep&force=true {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"x"}}`,
		`PATCH /apis/batch/v1/namespaces/default/jobs/b?fieldManager=podstep&force=true {"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"b"}}`)
	if err := c.Undo(t.Context(), []*tours.Action{apply}); err != nil {
		t.Fatal(err)
	}
	s.called(t,
		`DELETE /apis/batch/v1/namespaces/default/jobs/b?propagationPolicy=Background`,
		`DELETE /api/v1/namespaces/x/configmaps/a?propagationPolicy=Background`)
	if err := c.Clear(t.Context(), apply); err != nil {
		t.Errorf("what is gone already cannot be deleted: %v", err)
	}
}

func TestDeleteAndResize(t *testing.T) {
	s, c := start(t)
	grace := int64(0)
	del := &tours.Action{Do: tours.Delete, Object: "pod/default/web", Grace: &grace}
	if err := c.Do(t.Context(), del); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("deleting what is not there: %v", err)
	}
	s.calls = nil
	if err := c.Do(t.Context(), &tours.Action{Do: tours.Resize, Object: "pod/default/web", Manifest: "spec: {x: 1}"}); err != nil {
		t.Fatal(err)
	}
	s.objects["/api/v1/namespaces/default/pods/web"] = true
	if err := c.Do(t.Context(), del); err != nil {
		t.Fatal(err)
	}
	s.called(t, `PATCH /api/v1/namespaces/default/pods/web/resize {"spec":{"x":1}}`,
		`DELETE /api/v1/namespaces/default/pods/web?gracePeriodSeconds=0&propagationPolicy=Background`)
	if err := c.Do(t.Context(), &tours.Action{Do: tours.Delete, Object: "unicorn/default/x"}); err == nil || !strings.Contains(err.Error(), "no such kind") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestStaticAndPressure(t *testing.T) {
	_, c := start(t)
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
		{tours.WriteStatic, "manifests/s.yaml", true}, {tours.RemoveStatic, "manifests/s.yaml", false}, {tours.RemoveStatic, "manifests/s.yaml", false},
		{tours.Pressure, "pressure", true}, {tours.Relieve, "pressure", false}, {tours.Relieve, "pressure", false},
	} {
		if err := c.Do(t.Context(), &tours.Action{Do: step.do, Object: "s.yaml", Manifest: "kind: Pod"}); err != nil {
			t.Fatalf("%s: %v", step.do, err)
		}
		is(step.file, step.want)
	}
	made := []*tours.Action{{Do: tours.WriteStatic, Object: "s.yaml"}, {Do: tours.Pressure}}
	for _, a := range made {
		if err := c.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Undo(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	is("manifests/s.yaml", false)
	is("pressure", false)
	if err := c.Do(t.Context(), &tours.Action{Do: tours.WriteStatic, Object: "../../etc/x"}); err != nil {
		t.Fatal(err)
	}
	is("manifests/x", true)
}

// TestClearStatic: the file of an earlier walk is taken away, and its mirror is
// waited for.
func TestClearStatic(t *testing.T) {
	s, c := start(t)
	s.mirrors = 2
	a := &tours.Action{Do: tours.WriteStatic, Object: "s.yaml", Manifest: "{kind: Pod, metadata: {name: s}}"}
	if err := c.Do(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := c.Clear(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if s.mirrors != 0 {
		t.Errorf("the mirror was there %d times more", s.mirrors)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "manifests", "s.yaml")); err == nil {
		t.Error("the file is still there")
	}
}

func TestNoCluster(t *testing.T) {
	c := Find(filepath.Join(t.TempDir(), "agent.sock"), "", "")
	for _, do := range []tours.Do{tours.Apply, tours.WriteStatic, tours.Pressure} {
		if err := c.Do(t.Context(), &tours.Action{Do: do, Manifest: manifest, Object: "x"}); err == nil {
			t.Errorf("%s works without a cluster", do)
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
	for _, text := range []string{"a: [", "kind: Pod", "- x", "metadata: {name: x}"} {
		if err := c.Do(t.Context(), &tours.Action{Do: tours.Apply, Manifest: text}); err == nil {
			t.Errorf("%q is applied", text)
		}
	}
}
