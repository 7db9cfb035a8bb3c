package tours

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Cleanup returns the actions that take back what the walk's actions do, the last one first. It is no error if an
// object is gone already.
func (t *Tour) Cleanup() []Action {
	var out []Action
	done := map[Action]bool{}
	for i := len(t.Stops) - 1; i >= 0; i-- {
		if t.Stops[i].Act == nil {
			continue
		}
		for _, a := range t.Stops[i].Act.undo() {
			if !done[a] {
				done[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// undo returns the actions that take an action back.
func (a *Action) undo() (out []Action) {
	switch a.Do {
	case Create:
		for _, object := range objects(a.Manifest) {
			out = append(out, Action{Do: Delete, Object: object, Walk: a.Walk})
		}
	case WriteStatic:
		return []Action{{Do: RemoveStatic, Object: a.Object, Walk: a.Walk}}
	case Pressure:
		return []Action{{Do: Relieve}}
	}
	return out
}

// objects returns the objects of a manifest, as kind/namespace/name, the last one first.
func objects(manifest string) (out []string) {
	d := yaml.NewDecoder(strings.NewReader(manifest))
	for {
		var o object
		if d.Decode(&o) != nil {
			return out
		}
		name := strings.ToLower(o.Kind) + "/" + o.Metadata.Namespace + "/" + o.Metadata.Name
		out = append([]string{name}, out...)
	}
}

// object is the head of a document of a manifest.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace string
		Labels          map[string]string
	}
}
