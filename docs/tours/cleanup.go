package tours

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Cleanup is what takes back everything that the walk's actions do, last one
// first. What is not there any more is no error.
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

// Left are those of the actions, in their order, of which something is still
// there: what a later action took back is left out.
func Left(done []*Action) (left []*Action) {
	type trace struct {
		do     Do
		object string
	}
	gone := map[trace]bool{}
	for _, a := range slices.Backward(done) {
		gone[trace{a.Do, a.Object}] = true
		if slices.ContainsFunc(a.undo(), func(u Action) bool { return !gone[trace{u.Do, u.Object}] }) {
			left = append(left, a)
		}
	}
	slices.Reverse(left)
	return left
}

// undo is what takes an action back.
func (a *Action) undo() (out []Action) {
	switch a.Do {
	case Apply:
		for _, object := range objects(a.Manifest) {
			out = append(out, Action{Do: Delete, Object: object})
		}
	case WriteStatic:
		return []Action{{Do: RemoveStatic, Object: a.Object}}
	case Pressure:
		return []Action{{Do: Relieve}}
	}
	return out
}

// objects are what a manifest makes, as kind/namespace/name, last one first.
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
	Metadata   struct{ Name, Namespace string }
}
