package tours

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/probes"
)

// Own returns the walk for one run of it. What the run makes has the run's value of Label and, if the walk's names
// are taken, names with the suffix. Manifests, commands, the pods of the stops and the texts have the same names.
// node is the name of the node, with which the names of mirror pods end.
func (t *Tour) Own(run, suffix, node string) (*Tour, error) {
	o := owner{run: run, suffix: suffix, node: node}
	for i := range t.Stops {
		if a := t.Stops[i].Act; a != nil && (a.Do == Create || a.Do == WriteStatic) {
			o.names = append(o.names, names(a.Manifest)...)
		}
	}
	out := *t
	out.Pod = o.pod(t.Pod)
	out.Text, out.Ending = o.text(t.Text), o.text(t.Ending)
	var err error
	if out.Manifest, err = o.manifest(t.Manifest); err != nil {
		return nil, fmt.Errorf("rename objects of tour %s: %w", t.Name, err)
	}
	out.Stops = slices.Clone(t.Stops)
	for i := range out.Stops {
		if err := o.stop(&out.Stops[i]); err != nil {
			return nil, fmt.Errorf("rename objects of tour %s: stop %d: %w", t.Name, i+1, err)
		}
	}
	return &out, nil
}

// owner gives the names and the label of a run to what a walk makes.
type owner struct {
	names             []string
	run, suffix, node string
}

func (o *owner) stop(s *Stop) (err error) {
	s.Pod = o.pod(s.Pod)
	s.Text = o.text(s.Text)
	if s.Question != nil {
		s.Question = &Question{Text: o.text(s.Question.Text), Answer: o.text(s.Question.Answer)}
	}
	if s.Act == nil {
		return nil
	}
	a := *s.Act
	a.Walk = o.run
	switch a.Do {
	case Delete, Patch, Resize:
		kind, namespace, name := a.Parts()
		a.Object = path.Join(kind, namespace, o.name(name))
	case WriteStatic, RemoveStatic:
		base := strings.TrimSuffix(a.Object, ".yaml")
		a.Object = base + o.suffix + ".yaml"
	}
	a.Manifest, err = o.manifest(a.Manifest)
	s.Act = &a
	return err
}

func (o *owner) name(name string) string {
	if slices.Contains(o.names, name) {
		return name + o.suffix
	}
	return name
}

// pod renames a pod, given as namespace/name. A name that ends with "-*" is the name of a static pod's mirror.
func (o *owner) pod(pod string) string {
	namespace, name, ok := strings.Cut(pod, "/")
	if !ok {
		return pod
	}
	if base, mirror := strings.CutSuffix(name, "-*"); mirror && slices.Contains(o.names, base) {
		return namespace + "/" + o.name(base) + "-" + o.node
	}
	return namespace + "/" + o.name(name)
}

// text renames objects in a text. Only a name with a hyphen can be told from a word.
func (o *owner) text(t probes.Text) probes.Text {
	for _, name := range o.names {
		if o.suffix != "" && strings.Contains(name, "-") {
			word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
			t.En, t.Zh = word.ReplaceAllString(t.En, name+o.suffix), word.ReplaceAllString(t.Zh, name+o.suffix)
		}
	}
	return t
}

// references are the fields of a pod that name another object, in a field "name" of their own.
var references = []string{"configMap", "configMapRef", "configMapKeyRef"}

// claimReference is the field of a pod that is the name of a ResourceClaim.
const claimReference = "resourceClaimName"

// edit replaces the value of a scalar in a manifest.
type edit struct {
	line, column int // from 1
	old, new     string
}

// manifest renames the objects that a manifest makes or refers to. The text keeps its form.
func (o *owner) manifest(text string) (string, error) {
	var edits []edit
	for _, doc := range documentsOf(text) {
		edits = append(edits, o.edits(doc)...)
	}
	lines := strings.Split(text, "\n")
	slices.Reverse(edits) // from the end, because a line may have two
	for _, e := range edits {
		line := lines[e.line-1]
		if !strings.HasPrefix(line[e.column-1:], e.old) {
			return "", fmt.Errorf("%q is not written as it is in line %d of the manifest", e.old, e.line)
		}
		lines[e.line-1] = line[:e.column-1] + e.new + line[e.column-1+len(e.old):]
	}
	return strings.Join(lines, "\n"), nil
}

// edits returns the edits of one document, which is a manifest or a JSON patch.
func (o *owner) edits(doc *yaml.Node) (out []edit) {
	change := func(n *yaml.Node, to string) {
		if n != nil && n.Kind == yaml.ScalarNode && n.Value != to {
			out = append(out, edit{n.Line, n.Column, n.Value, to})
		}
	}
	if doc.Kind == yaml.SequenceNode {
		if len(doc.Content) > 0 {
			change(field(doc.Content[0], "value"), o.run) // the test for the label
		}
		return out
	}
	if n := field(doc, "metadata", "name"); n != nil {
		change(n, o.name(n.Value))
	}
	change(field(doc, "metadata", "labels", Label), o.run)
	walkNodes(doc, func(key string, n *yaml.Node) {
		if named := field(n, "name"); slices.Contains(references, key) && named != nil {
			change(named, o.name(named.Value))
		}
		if key == claimReference {
			change(n, o.name(n.Value))
		}
	})
	slices.SortFunc(out, func(a, b edit) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	return out
}

// documentsOf returns the roots of a manifest's documents.
func documentsOf(text string) (out []*yaml.Node) {
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var n yaml.Node
		if d.Decode(&n) != nil {
			return out
		}
		if len(n.Content) > 0 {
			out = append(out, n.Content[0])
		}
	}
}

// field returns the node at a path of mappings, or nil.
func field(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return n
}

// walkNodes calls each for every field below a node.
func walkNodes(n *yaml.Node, each func(key string, n *yaml.Node)) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			each(n.Content[i-1].Value, c)
		}
		walkNodes(c, each)
	}
}

// names returns the names of the objects that a manifest makes.
func names(manifest string) (out []string) {
	for _, doc := range documentsOf(manifest) {
		if n := field(doc, "metadata", "name"); n != nil {
			out = append(out, n.Value)
		}
	}
	return out
}
