package wording

import (
	"encoding/json"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Value is a named value in full: Text may have several lines.
type Value struct{ Name, Text string }

// The names of the fields with the messages of a call to the runtime.
const fieldRequest, fieldResponse = "request", "response"

// Values lists values in full, without the messages of a call to the runtime:
// first those that the catalogue names, in its order, then the others.
func Values(names []probes.Field, values map[string]any) (out []Value) {
	listed := map[string]bool{fieldRequest: true, fieldResponse: true}
	for _, f := range names {
		if v, ok := values[f.Name]; ok && v != "" && !listed[f.Name] {
			out = append(out, Value{f.Name, long(v)})
		}
		listed[f.Name] = true
	}
	for _, n := range sorted(values) {
		if !listed[n] && values[n] != "" {
			out = append(out, Value{words.Clean(n), long(values[n])})
		}
	}
	return out
}

// Request returns what a call asked of the runtime, as lines of YAML: its whole message if the kubelet's function has
// it, else one made of its arguments.
func Request(c *history.Call) []string { return message(c.Args, fieldRequest) }

// Response returns the runtime's answer to a call, in the same way as Request.
func Response(c *history.Call) []string { return message(c.Results, fieldResponse) }

func message(values map[string]any, field string) []string {
	if doc, ok := values[field]; ok {
		return markHidden(yamlLines(doc))
	}
	if len(values) == 0 {
		return nil
	}
	b, err := json.Marshal(values)
	if err != nil {
		return nil
	}
	return yamlLines(probes.RawJSON(b))
}

// hiddenValues stands behind the environment variables of a message, whose values the agent leaves out, so that they
// do not look empty.
const hiddenValues = " # value: <redacted>"

// markHidden marks environment variables in lines of YAML.
func markHidden(lines []string) []string {
	for i, line := range lines {
		if strings.TrimSpace(line) == "envs:" {
			lines[i] += hiddenValues
		}
	}
	return lines
}

// yamlLines writes a JSON document as lines of YAML. A text that is no JSON, such as a document that was cut short,
// stays as it is.
func yamlLines(v any) []string {
	doc, ok := v.(probes.RawJSON)
	if !ok {
		return strings.Split(long(v), "\n")
	}
	b, err := yaml.JSONToYAML(doc)
	if err != nil {
		return Lines(string(doc))
	}
	return Lines(strings.TrimRight(string(b), "\n"))
}

// Lines makes foreign text of several lines safe to show, line by line.
func Lines(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i := range lines {
		lines[i] = words.Clean(lines[i])
	}
	return lines
}

// shortDocument is the most bytes with which a document stays in one line.
const shortDocument = 60

// long returns a value in full. Documents become YAML of several lines.
func long(v any) string {
	switch v := v.(type) {
	case probes.RawJSON:
		if len(v) < shortDocument {
			return words.Short(v)
		}
		lines := yamlLines(v)
		if len(lines) == 1 {
			return words.Short(v)
		}
		return strings.Join(lines, "\n")
	case string:
		return strings.Join(Lines(v), "\n")
	case time.Duration:
		return words.Measured(v)
	}
	return words.Short(v)
}
