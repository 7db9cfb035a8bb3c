package recording

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// everything is a snapshot with something of every source.
func everything() *evidence.Snapshot {
	s := &evidence.Snapshot{
		Pod: &corev1.Pod{}, KubeletPod: &corev1.Pod{}, Kubelet: &evidence.Kubelet{}, Runtime: &evidence.Runtime{}, Machine: &evidence.Machine{},
		Story: &evidence.Story{},
	}
	for _, source := range []evidence.Source{evidence.API, evidence.Port, evidence.CRI, evidence.Node, evidence.Log, evidence.Agent} {
		s.Saw(source, "something", s.Taken)
		s.Missed(source, "something else", evidence.Failed, "")
	}
	return s
}

func TestMask(t *testing.T) {
	for way, sources := range map[Way]int{API: 1, Near: 5, Attach: 6, Woven: 6} {
		s := everything()
		got := way.Mask(s)
		if got.Pod == nil || (got.Kubelet != nil && got.Machine != nil && got.Runtime != nil && got.KubeletPod != nil) != (way != API) {
			t.Errorf("%s: %+v", way, got)
		}
		if (got.Story != nil) != (way == Attach || way == Woven) {
			t.Errorf("%s: the story is %v", way, got.Story)
		}
		if len(got.Origins) != sources || len(got.Unseen) != sources {
			t.Errorf("%s: %v, %v", way, got.Origins, got.Unseen)
		}
		if len(s.Origins) != 6 || s.Story == nil {
			t.Errorf("%s: the snapshot itself has changed", way)
		}
	}
}

func TestParse(t *testing.T) {
	for _, path := range []string{"a.b/lab-api+woven-x-y.json", "a.b/node-near.json", "healthy/lab-api-x.json"} {
		f, err := Parse(path)
		if err != nil || f.path("") != path {
			t.Errorf("%s is %+v, %v", path, f, err)
		}
	}
	for _, path := range []string{"a.b/lab.json", "a.b/lab-far.json", "a.b/sim-api.json", "a.b/lab-api+.json"} {
		if f, err := Parse(path); err == nil {
			t.Errorf("%s is %+v", path, f)
		}
	}
}

// TestKeep: a lesser way has no file of its own if a greater one's snapshot names the
// cause without what only the greater way sees. Files of ways that were not taken stay.
func TestKeep(t *testing.T) {
	api, near, attach := everything(), everything(), everything()
	all := []Sight{{API, API.Mask(api)}, {Near, Near.Mask(near)}, {Attach, attach}}
	for _, c := range []struct {
		name  string
		named func(*evidence.Snapshot) bool
		files []string
	}{
		{"always", func(*evidence.Snapshot) bool { return true }, []string{"lab-api+near+attach-x.json", "lab-woven-x.json"}},
		{"by the kubelet", func(s *evidence.Snapshot) bool { return s.Kubelet != nil }, []string{"lab-api-x.json", "lab-near+attach-x.json", "lab-woven-x.json"}},
		{"never", func(*evidence.Snapshot) bool { return false }, []string{"lab-api-x.json", "lab-attach-x.json", "lab-near-x.json", "lab-woven-x.json"}},
	} {
		dir := t.TempDir()
		for _, ways := range [][]Way{{API, Near}, {Woven}} {
			old := File{Cause: "a.b", Proof: "lab", Ways: ways, Name: "x"}
			if err := write(old.path(dir), everything()); err != nil {
				t.Fatal(err)
			}
		}
		if err := Keep(dir, File{Cause: "a.b", Proof: "lab", Name: "x"}, all, c.named); err != nil {
			t.Fatal(err)
		}
		var files []string
		entries, err := os.ReadDir(filepath.Join(dir, "a.b"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			files = append(files, e.Name())
		}
		if !slices.Equal(files, c.files) {
			t.Errorf("%s: %q", c.name, files)
		}
	}
}
