package cluster

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/tui/tours"
)

// TestWalksTouchNothingOfOthers runs all actions of every walk, and then undoes them, while somebody else has
// objects of all the names in the walk's file. Afterwards exactly the objects from before are there, unchanged.
func TestWalksTouchNothingOfOthers(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []struct {
		name  string
		label string
	}{{"nobody", ""}, {"another run", "creation.other"}, {"a page", "creation"}} {
		t.Run(before.name, func(t *testing.T) {
			s, c := start(t)
			names := 0
			for i := range all {
				names += occupy(t, s, c, &all[i], before.label)
			}
			if names < 12 {
				t.Fatalf("only %d names are occupied", names)
			}
			want := everything(t, s, c)
			for i := range all {
				walk(t, c, &all[i])
				if got := everything(t, s, c); got != want {
					t.Fatalf("after the walk %s there is\n%s\nand was\n%s", all[i].Name, got, want)
				}
			}
		})
	}
}

// occupy makes objects of somebody else with all names that a walk would use.
func occupy(t *testing.T, s *server, c *Cluster, tour *tours.Tour, label string) (n int) {
	t.Helper()
	for i := range tour.Stops {
		a := tour.Stops[i].Act
		if a == nil || a.Do != tours.Create && a.Do != tours.WriteStatic {
			continue
		}
		docs, err := documents(a.Manifest, label)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			var o map[string]any
			if err := json.Unmarshal(d.json, &o); err != nil {
				t.Fatal(err)
			}
			if label == "" {
				delete(metaOf(o), "labels")
			}
			metaOf(o)["annotations"] = map[string]any{"owner": "me"}
			version := "/api/v1"
			if d.APIVersion != "v1" {
				version = "/apis/" + d.APIVersion
			}
			at := path.Join(version, "namespaces", d.Namespace, strings.ToLower(d.Kind)+"s", d.Name)
			if a.Do == tours.WriteStatic {
				text, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(c.Dir, "manifests", a.Object), text, 0o644); err != nil {
					t.Fatal(err)
				}
				metaOf(o)["annotations"] = map[string]any{corev1.MirrorPodAnnotationKey: "x"}
				metaOf(o)["name"] = d.Name + "-node-1"
				at += "-node-1"
			}
			s.put(at, o)
			n++
		}
	}
	return n
}

// everything returns all that the API server and the lab's directory have.
func everything(t *testing.T, s *server, c *Cluster) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.MarshalIndent(s.objects, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for _, pattern := range []string{"*", "manifests/*", "manifests/.*"} {
		files, err := filepath.Glob(filepath.Join(c.Dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				out += "\n" + file + "\n" + string(text)
			}
		}
	}
	return out
}

// walk does all actions of a walk, and then undoes them.
func walk(t *testing.T, c *Cluster, tour *tours.Tour) {
	t.Helper()
	r := c.Begin(tour.Name)
	own, _, err := r.Take(t.Context(), tour, "node-1")
	if err != nil {
		t.Fatalf("%s: %v", tour.Name, err)
	}
	for i := range own.Stops {
		if a := own.Stops[i].Act; a != nil {
			if err := r.Do(t.Context(), a); err != nil {
				t.Errorf("%s: stop %d: %v", tour.Name, i+1, err)
			}
		}
	}
	if err := r.Undo(t.Context()); err != nil {
		t.Errorf("%s: %v", tour.Name, err)
	}
}

func creation(t *testing.T) *tours.Tour {
	t.Helper()
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	return tours.Find(all, "creation")
}

// TestTake: a walk has its own names if they are free, and other names if not. Only when it is asked to does it
// delete what an earlier run left, and only that.
func TestTake(t *testing.T) {
	s, c := start(t)
	tour := creation(t)
	first := c.Begin(tour.Name)
	own, found, err := first.Take(t.Context(), tour, "node-1")
	if err != nil || own.Pod != "default/hello" || len(found.Taken)+len(found.Left) > 0 {
		t.Fatalf("in an empty cluster it takes %s, finds %+v: %v", own.Pod, found, err)
	}
	if err := first.Do(t.Context(), own.Stops[0].Act); err != nil {
		t.Fatal(err)
	}
	s.put("/api/v1/namespaces/default/pods/hello-2", map[string]any{"metadata": map[string]any{"name": "hello-2"}})

	second := c.Begin(tour.Name)
	own, found, err = second.Take(t.Context(), tour, "node-1")
	if err != nil || own.Pod != "default/hello-3" {
		t.Fatalf("with another run and a pod of somebody it takes %s: %v", own.Pod, err)
	}
	if want := []string{"configmap default/hello", "pod default/hello"}; !slices.Equal(found.Left, want) || !slices.Equal(found.Taken, want) {
		t.Errorf("it found %+v", found)
	}
	s.lasts = 2
	if err := second.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.objects["/api/v1/namespaces/default/pods/hello"] != nil || s.objects["/api/v1/namespaces/default/pods/hello-2"] == nil {
		t.Errorf("cleared, there is %v", s.objects)
	}
	own, found, err = second.Take(t.Context(), tour, "node-1")
	if err != nil || own.Pod != "default/hello" || len(found.Left) > 0 {
		t.Errorf("then it takes %s, finds %+v: %v", own.Pod, found, err)
	}
}

// TestTakeWaits: Take waits for objects that an earlier run is deleting, and does not report them.
func TestTakeWaits(t *testing.T) {
	s, c := start(t)
	tour := creation(t)
	earlier := c.Begin(tour.Name)
	if err := earlier.Do(t.Context(), tour.Stops[0].Act); err != nil {
		t.Fatal(err)
	}
	s.lasts = 3
	if err := earlier.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	own, found, err := c.Begin(tour.Name).Take(t.Context(), tour, "node-1")
	if err != nil || own.Pod != "default/hello" || len(found.Taken)+len(found.Left) > 0 {
		t.Errorf("while the pod of the earlier run ends it takes %s, finds %+v: %v", own.Pod, found, err)
	}
}

// TestTakeStatic: a name is also taken by the file of a static pod, or by a pod with a mirror's name.
func TestTakeStatic(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	tour := tours.Find(all, "static")
	s, c := start(t)
	mirror := "/api/v1/namespaces/default/pods/lamp-node-1"
	s.put(mirror, map[string]any{"metadata": map[string]any{"name": "lamp-node-1"}})
	r := c.Begin(tour.Name)
	own, found, err := r.Take(t.Context(), tour, "node-1")
	if err != nil || own.Pod != "default/lamp-2-node-1" || len(found.Taken) != 1 {
		t.Fatalf("it takes %s, finds %+v: %v", own.Pod, found, err)
	}
	delete(s.objects, mirror)
	before := c.Begin(tour.Name)
	if err := before.Do(t.Context(), tour.Stops[0].Act); err != nil {
		t.Fatal(err)
	}
	own, found, err = r.Take(t.Context(), tour, "node-1")
	file := filepath.Join(c.Dir, "manifests", "lamp.yaml")
	if err != nil || own.Pod != "default/lamp-2-node-1" || !slices.Equal(found.Left, []string{file}) {
		t.Fatalf("with the file of an earlier run it takes %s, finds %+v: %v", own.Pod, found, err)
	}
	// The kubelet deletes the mirror some time after the file is gone.
	s.put(mirror, map[string]any{"metadata": map[string]any{"name": "lamp-node-1"}})
	go func() {
		for {
			if _, err := os.Stat(file); err != nil {
				s.mu.Lock()
				delete(s.objects, mirror)
				s.mu.Unlock()
				return
			}
		}
	}()
	if err := r.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if own, _, err = r.Take(t.Context(), tour, "node-1"); err != nil || own.Pod != "default/lamp-node-1" {
		t.Errorf("then it takes %s: %v", own.Pod, err)
	}
}

// TestOthers: Others names pods on nodes that the run did not make and that have not ended.
func TestOthers(t *testing.T) {
	s, c := start(t)
	r := begin(c)
	if err := r.Do(t.Context(), &tours.Action{Do: tours.Create, Manifest: "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1}}"}); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]map[string]any{
		"yours":   {"spec": map[string]any{"nodeName": "node-1"}, "status": map[string]any{"phase": "Running"}},
		"ended":   {"spec": map[string]any{"nodeName": "node-1"}, "status": map[string]any{"phase": "Failed"}},
		"going":   {"spec": map[string]any{"nodeName": "node-1"}, "status": map[string]any{"phase": "Running"}},
		"nowhere": {"status": map[string]any{"phase": "Pending"}},
	} {
		o["metadata"] = map[string]any{"name": name}
		s.put("/api/v1/namespaces/shop/pods/"+name, o)
	}
	for at, o := range s.objects {
		if path.Base(at) == "going" {
			metaOf(o)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
	}
	others, err := r.Others(t.Context())
	if err != nil || !slices.Equal(others, []string{"shop/yours"}) {
		t.Errorf("others are %v, %v", others, err)
	}
}
