package dap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// node is a variable, or a member of one.
type node struct {
	name, value, kind string
	// children are its members; nil: it has none.
	children func() []node
	// count is the number of members.
	count int
}

// nodesOf returns the fields of a call, sorted by name, for which wanted returns true.
func nodesOf(fields map[string]any, wanted func(any) bool) (out []node) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if wanted(fields[name]) {
			out = append(out, nodeOf(name, fields[name]))
		}
	}
	return out
}

// isDocument reports whether a field is a document, such as a CRI request.
func isDocument(v any) bool {
	_, is := v.(probes.RawJSON)
	return is
}

func isPlain(v any) bool { return !isDocument(v) }

// nodeOf returns a field as a variable. A document is a tree.
func nodeOf(name string, v any) node {
	if doc, is := v.(probes.RawJSON); is {
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		var tree any
		if d.Decode(&tree) == nil {
			return treeOf(name, tree)
		}
		v = string(doc)
	}
	return treeOf(name, v)
}

func treeOf(name string, v any) node {
	n := node{name: words.Clean(name)}
	switch v := v.(type) {
	case map[string]any:
		n.kind, n.value, n.count = "object", brief(v), len(v)
		n.children = func() []node {
			return nodesOf(v, func(any) bool { return true })
		}
	case []any:
		n.kind, n.value, n.count = "list", fmt.Sprintf("[%d]", len(v)), len(v)
		n.children = func() []node {
			out := make([]node, len(v))
			for i, x := range v {
				out[i] = treeOf("["+strconv.Itoa(i)+"]", x)
			}
			return out
		}
	case string:
		n.kind, n.value = "string", strconv.Quote(words.Clean(v))
	case nil:
		n.kind, n.value = "null", "null"
	case bool:
		n.kind, n.value = "bool", strconv.FormatBool(v)
	default:
		n.kind, n.value = "number", words.Clean(fmt.Sprint(v))
	}
	if n.count == 0 {
		n.children = nil
	}
	return n
}

// brief returns an object in a few characters.
func brief(v map[string]any) string {
	const most = 60
	if len(v) == 0 {
		return "{}"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "{…}"
	}
	return words.Cut(words.Clean(string(text)), most)
}

// plain is a variable without members.
func plain(name, value string) node { return node{name: name, value: words.Clean(value)} }

// variables answers with a list of variables, or with the part of it that the editor asks for.
func (s *session) variables(r *dap.VariablesRequest) error {
	v, ok := s.refs.all[r.Arguments.VariablesReference]
	if !ok || v.nodes == nil {
		return fmt.Errorf("there are no variables %d any more: their pod has gone on", r.Arguments.VariablesReference)
	}
	all := v.nodes()
	if n := r.Arguments.Count; n > 0 {
		from := min(max(0, r.Arguments.Start), len(all))
		all = all[from:min(len(all), from+n)]
	}
	out := make([]dap.Variable, len(all))
	for i, n := range all {
		out[i] = dap.Variable{Name: n.name, Value: n.value, Type: n.kind, EvaluateName: n.name, VariablesReference: s.refOf(v.place, n)}
		if n.kind == "list" {
			out[i].IndexedVariables = n.count
		} else {
			out[i].NamedVariables = n.count
		}
	}
	s.out.put(&dap.VariablesResponse{Response: done(r), Body: dap.VariablesResponseBody{Variables: out}})
	return nil
}

// refOf returns the number by which an editor asks for the members of a variable; 0: it has none.
func (s *session) refOf(place int, n node) int {
	if n.children == nil {
		return 0
	}
	return s.refs.add(ref{place: place, nodes: n.children})
}
