package tours

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/probes"
)

// screen lists the parts of the screen that Stop.Look may name besides fields.
var screen = []string{"@pods", "@source", "@timeline", "@why", "@budget", "@error"}

// Check finds mistakes in walks, by the catalogue: unknown steps, holds that are not allowed, text missing in a
// language, manifests that cannot be read.
func Check(all []Tour, c *probes.Catalogue) error {
	var errs []error
	for i := range all {
		t := &all[i]
		problems := t.problems(c)
		if t.Next != "" && Find(all, t.Next) == nil {
			problems = append(problems, "next tour "+t.Next+" is not there")
		}
		errs = append(errs, errorsOf(t.Name, problems))
	}
	return errors.Join(errs...)
}

func (t *Tour) problems(c *probes.Catalogue) (out []string) {
	add := func(bad bool, what string) {
		if bad {
			out = append(out, what)
		}
	}
	add(missing(t.Title) || missing(t.Text) || missing(t.Ending), "title, text or ending is missing in a language")
	add(t.Needs.Runtime != Any && t.Needs.Runtime != Sim, `needs a runtime: "any" or "sim"`)
	add(t.Needs.Devices && t.Needs.Runtime != Sim, "needs devices, which only a lab with the runtime sim has")
	add(len(t.Stops) < 6 || len(t.Stops) > 15, fmt.Sprintf("has %d stops; 6 to 15 are a walk", len(t.Stops)))
	if _, err := path.Match(t.Pod, ""); err != nil {
		add(true, "pod is not a glob")
	}
	if len(t.Stops) > 0 {
		first := t.Stops[0].Act != nil
		add(first == t.Needs.Recorded, "begins with an action, unless it reads what is recorded")
		add(t.Stops[len(t.Stops)-1].Act != nil, "ends with an action, and nobody sees what comes of it")
	}
	for i := range t.Stops {
		for _, p := range t.Stops[i].problems(c) {
			add(true, fmt.Sprintf("stop %d (%s): %s", i+1, t.Stops[i].Name(), p))
		}
		add(i > 0 && t.Stops[i].Act != nil && t.Stops[i-1].Act != nil, fmt.Sprintf("stop %d: two actions in a row", i+1))
	}
	return out
}

// Name returns what the stop is about, for messages: its step, or its action.
func (s *Stop) Name() string {
	if s.Act != nil {
		return string(s.Act.Do)
	}
	return s.Step
}

func (s *Stop) problems(c *probes.Catalogue) (out []string) {
	add := func(bad bool, what string) {
		if bad {
			out = append(out, what)
		}
	}
	add(missing(s.Title) || missing(s.Text), "title or text is missing in a language")
	add(s.Question != nil && (missing(s.Question.Text) || missing(s.Question.Answer)), "question or answer is missing in a language")
	add((s.Wait.En == "") != (s.Wait.Zh == ""), "wait is missing in a language")
	add(s.Only != "" && s.Only != Sim && s.Only != Containerd, "only names no runtime")
	for _, name := range s.Shows {
		add(c.Step(name) == nil, "shows "+name+", which is not a step")
	}
	if s.Act != nil {
		add(s.Step != "" || s.Hold != "" || len(s.Where) > 0, "is an action and a step")
		return append(out, s.Act.problems()...)
	}
	step := c.Step(s.Step)
	if step == nil {
		return append(out, "is not a step")
	}
	add(s.On != probes.Enter && s.On != probes.Exit, "is at neither enter nor exit")
	switch step.Pod.Kind {
	case probes.PodNone:
		add(s.Pod != "", "is about the node, not about a pod")
	case probes.PodInherit:
	default:
		add(s.Pod == "", "is about a pod, not about the node")
	}
	add(s.Hold != "" && !s.holdAllowed(step), "may not be held there")
	fields := fieldsOf(step, s.On)
	for name, want := range s.Where {
		add(!slices.Contains(fields, name), "has no field "+name+" there")
		_, err := path.Match(want, "")
		add(err != nil, "value of "+name+" is not a glob")
	}
	var all []string
	for _, name := range append([]string{s.Step}, s.Shows...) {
		if step := c.Step(name); step != nil {
			all = append(append(all, fieldsOf(step, probes.Enter)...), fieldsOf(step, probes.Exit)...)
		}
	}
	for _, name := range s.Look {
		add(!slices.Contains(all, name) && !slices.Contains(screen, name), "has no "+name+" to look at")
	}
	return out
}

func (s *Stop) holdAllowed(step *probes.Step) bool {
	rule := step.Hold.Enter
	if s.On == probes.Exit {
		rule = step.Hold.Exit
	}
	switch rule {
	case probes.HoldYes, probes.HoldWorker, probes.HoldOwn:
		return s.Hold == HoldPod
	case probes.HoldNode:
		return s.Hold == HoldNode
	}
	return false
}

// fieldsOf returns the fields of an event at this side of the step.
func fieldsOf(step *probes.Step, on probes.Kind) (out []string) {
	list := step.Fields
	if on == probes.Exit {
		list = step.Results
		if step.Pod.Kind == probes.PodUpdates {
			out = append(out, "op")
		}
	}
	for _, f := range list {
		out = append(out, f.Name)
	}
	return out
}

func (a *Action) problems() (out []string) {
	kind, _, _ := a.Parts()
	switch a.Do {
	case Create:
		if err := a.documents(); err != nil {
			return append(out, err.Error())
		}
	case Delete:
		if kind == "" {
			out = append(out, "object is not kind/namespace/name")
		}
	case Patch, Resize:
		if kind == "" {
			out = append(out, "object is not kind/namespace/name")
		}
		if err := a.testsLabel(); err != nil {
			out = append(out, err.Error())
		}
	case WriteStatic, RemoveStatic:
		if a.Do == WriteStatic {
			if err := a.documents(); err != nil {
				return append(out, err.Error())
			}
		}
		if a.Object == "" || path.Base(a.Object) != a.Object || path.Ext(a.Object) != ".yaml" {
			out = append(out, "object is not the name of a YAML file")
		}
	case Pressure:
		if signal, left, _ := strings.Cut(a.Object, "="); signal == "" || left == "" {
			out = append(out, "object is not SIGNAL=QUANTITY")
		}
	case Relieve:
	default:
		out = append(out, fmt.Sprintf("nobody knows how to %q", a.Do))
	}
	return out
}

// kinds are the kinds of objects that walks make.
var kinds = []string{"Pod", "ConfigMap", "ResourceClaim"}

// documents checks that every document of a manifest is of one of the kinds, with a namespace, a name and the walk's
// label. Other kinds are refused, because nobody knows beforehand the names of what a controller makes of them.
func (a *Action) documents() error {
	d := yaml.NewDecoder(strings.NewReader(a.Manifest))
	for n := 1; ; n++ {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) && n > 1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read document %d of the manifest: %w", n, err)
		}
		switch {
		case o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" || o.Metadata.Namespace == "":
			return fmt.Errorf("document %d of the manifest lacks apiVersion, kind, name or namespace", n)
		case !slices.Contains(kinds, o.Kind):
			return fmt.Errorf("document %d of the manifest is a %s; a walk makes only %s", n, o.Kind, strings.Join(kinds, ", "))
		case o.Metadata.Labels[Label] != a.Walk:
			return fmt.Errorf("document %d of the manifest lacks the label %s: %s", n, Label, a.Walk)
		}
	}
}

// testsLabel checks that a patch is a JSON patch that begins with a test for the
// walk's label.
func (a *Action) testsLabel() error {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := yaml.Unmarshal([]byte(a.Manifest), &ops); err != nil {
		return fmt.Errorf("read JSON patch: %w", err)
	}
	want := "/metadata/labels/" + strings.ReplaceAll(Label, "/", "~1")
	if len(ops) < 2 || ops[0].Op != "test" || ops[0].Path != want || ops[0].Value != a.Walk {
		return fmt.Errorf("the JSON patch does not begin with a test for the label %s: %s", Label, a.Walk)
	}
	return nil
}

func missing(t probes.Text) bool { return t.En == "" || t.Zh == "" }
