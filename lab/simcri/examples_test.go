package simcri

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podstep/podstep/lab/simcri/ash"
)

// workload is a pod, or an object that has a pod's template.
type workload struct {
	Spec struct {
		v1.PodSpec
		Template struct{ Spec v1.PodSpec }
	}
}

// TestExamplesAreUnderstood: every command in docs/examples is understood, so it does what it does on a real node.
func TestExamplesAreUnderstood(t *testing.T) {
	pages, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d examples, %v", len(pages), err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			var raw json.RawMessage
			if err := d.Decode(&raw); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			var w workload
			if json.Unmarshal(raw, &w) != nil {
				continue // of another form, without containers
			}
			for _, spec := range []v1.PodSpec{w.Spec.PodSpec, w.Spec.Template.Spec} {
				for _, c := range append(spec.InitContainers, spec.Containers...) {
					understand(t, filepath.Base(page), c)
				}
			}
		}
	}
}

// understand checks the container's command, and those of its health probes and hooks.
func understand(t *testing.T, page string, c v1.Container) {
	t.Helper()
	var all [][]string
	if len(c.Command) > 0 {
		all = append(all, append(c.Command, c.Args...))
	}
	for _, p := range []*v1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p != nil && p.Exec != nil {
			all = append(all, p.Exec.Command)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil && h.Exec != nil {
				all = append(all, h.Exec.Command)
			}
		}
	}
	for _, argv := range all {
		if _, err := ash.Parse(argv); err != nil {
			t.Errorf("%s, container %s: %q: %v", page, c.Name, argv, err)
		}
	}
}
