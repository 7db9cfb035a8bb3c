package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Question is what the computing program is asked: the plan of the recorded inputs, and of the changed ones.
type Question struct {
	Inputs *Inputs `json:"inputs"`
	// Recorded is the plan that the kubelet made of them, as far as its event has it.
	Recorded Recorded `json:"recorded,omitempty"`
	Changes  []Change `json:"changes,omitempty"`
}

// Answer has both plans, and what about them differs.
type Answer struct {
	// Kubelet is the version of the kubelet's code that made the plans.
	Kubelet string `json:"kubelet"`
	// Same: the plan that was computed of the recorded inputs is the recorded one. Compared is false if the event has no
	// plan, because the call had not ended.
	Same     bool     `json:"same"`
	Compared bool     `json:"compared"`
	Mismatch []string `json:"mismatch,omitempty"`
	Changes  []Made   `json:"changes"`
	Before   *Plan    `json:"before"`
	After    *Plan    `json:"after"`
	Rows     []Row    `json:"rows"`
}

// Made is a change that was made, with the values before and after it, in JSON.
type Made struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Row is one subject of both plans: the pod, its sandbox, a container.
type Row struct {
	Subject string `json:"subject"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Differs bool   `json:"differs"`
	// Because are the changes without which the row would not be as it is after all of them.
	Because []string `json:"because,omitempty"`
	// MessagesBefore and MessagesAfter are the messages about the subject that the kubelet's function logged.
	MessagesBefore []string `json:"messagesBefore,omitempty"`
	MessagesAfter  []string `json:"messagesAfter,omitempty"`
}

// Compute makes a plan of inputs: the kubelet's function.
type Compute func(*Inputs) (*Plan, error)

// Explain answers a question.
func Explain(q *Question, compute Compute) (*Answer, error) {
	e := explainer{q: q, compute: compute}
	before, err := compute(q.Inputs)
	if err != nil {
		return nil, err
	}
	a := &Answer{Before: before, Changes: []Made{}}
	a.Mismatch, a.Compared = before.Differs(q.Recorded)
	a.Same = a.Compared && len(a.Mismatch) == 0
	changed, err := q.Inputs.Clone()
	if err != nil {
		return nil, err
	}
	for _, c := range q.Changes {
		made, err := c.make(changed)
		if err != nil {
			return nil, err
		}
		a.Changes = append(a.Changes, made)
	}
	if a.After, err = compute(changed); err != nil {
		return nil, err
	}
	a.Rows = rowsOf(q.Inputs, before, changed, a.After)
	for i := range a.Rows {
		if r := &a.Rows[i]; r.Differs {
			if r.Because, err = e.because(r); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// make makes a change and returns what it made.
func (c Change) make(in *Inputs) (m Made, err error) {
	m.Path = c.Path
	if m.From, err = c.at(in); err != nil {
		return m, err
	}
	if err := c.Apply(in); err != nil {
		return m, err
	}
	m.To, err = c.at(in)
	return m, err
}

type explainer struct {
	q       *Question
	compute Compute
}

// because returns a smallest set of changes that makes a row what all changes make it: none of the set can be left out.
func (e *explainer) because(r *Row) (paths []string, err error) {
	needed := slices.Clone(e.q.Changes)
	for i := 0; i < len(needed); {
		without := slices.Delete(slices.Clone(needed), i, i+1)
		row, err := e.row(without, r.Subject)
		if err != nil {
			return nil, err
		}
		if row == r.After {
			needed = without
		} else {
			i++
		}
	}
	for _, c := range needed {
		paths = append(paths, c.Path)
	}
	return paths, nil
}

// row returns a row after some of the changes; "" if they do not go without the others.
func (e *explainer) row(changes []Change, subject string) (string, error) {
	in, err := e.q.Inputs.Clone()
	if err != nil {
		return "", err
	}
	for _, c := range changes {
		if c.Apply(in) != nil {
			return "", nil
		}
	}
	if in.Check() != nil {
		return "", nil
	}
	plan, err := e.compute(in)
	if err != nil {
		return "", nil // such as feature gates of which one needs the other
	}
	for _, s := range subjectsOf(in, plan) {
		if s.name == subject {
			return s.text, nil
		}
	}
	return absent, nil
}

// subject is one subject of a plan.
type subject struct {
	name, text string
	messages   []string
}

// absent is the text of a subject that is not there.
const absent = "is not there"

// Names of the subjects that each plan has.
const (
	subjectPod     = "pod"
	subjectSandbox = "sandbox"
)

func rowsOf(inBefore *Inputs, before *Plan, inAfter *Inputs, after *Plan) (rows []Row) {
	old, changed := subjectsOf(inBefore, before), subjectsOf(inAfter, after)
	for _, s := range old {
		rows = append(rows, Row{Subject: s.name, Before: s.text, MessagesBefore: s.messages, After: absent})
	}
	for _, s := range changed {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Subject == s.name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Row{Subject: s.name, Before: absent})
		}
		rows[i].After, rows[i].MessagesAfter = s.text, s.messages
	}
	for i := range rows {
		rows[i].Differs = rows[i].Before != rows[i].After
	}
	return rows
}

// subjectsOf returns the decisions of a plan about the pod, its sandbox and each container.
func subjectsOf(in *Inputs, p *Plan) (out []subject) {
	out = append(out, subject{subjectPod, p.ofPod(), p.messages("")}, subject{subjectSandbox, p.ofSandbox(), nil})
	add := func(kind, name string, of []Place) {
		s := subject{name: kind + " " + name, text: p.ofContainer(name, of)}
		s.messages = p.messages(name)
		out = append(out, s)
	}
	for i := range in.Spec.InitContainers {
		add("init container", in.Spec.InitContainers[i].Name, p.InitToStart)
	}
	for i := range in.Spec.Containers {
		add("container", in.Spec.Containers[i].Name, p.ToStart)
	}
	for i := range in.Spec.EphemeralContainers {
		add("ephemeral container", in.Spec.EphemeralContainers[i].Name, p.EphemeralToStart)
	}
	return out
}

func (p *Plan) ofPod() string {
	text := []string{"go on"}
	if p.KillPod {
		text[0] = "kill all containers and the sandbox"
	}
	if p.UpdatePodResources {
		text = append(text, "update the resources of the pod")
	}
	if p.UpdatePodLevelResources {
		text = append(text, "update the resources that the pod has as a whole")
	}
	return strings.Join(text, "; ")
}

func (p *Plan) ofSandbox() string {
	switch {
	case p.CreateSandbox:
		return fmt.Sprintf("create, attempt %d", p.Attempt)
	case p.KillPod && p.SandboxID == "":
		return "create none"
	case p.KillPod:
		return "stop, and create none"
	}
	return fmt.Sprintf("keep, attempt %d", p.Attempt)
}

// ofContainer returns what happens to a container that is started if it is among some places.
func (p *Plan) ofContainer(name string, starts []Place) string {
	var text []string
	for _, k := range p.ToKill {
		if k.Name == name {
			text = append(text, "kill ("+k.Message+")")
		}
	}
	for i, r := range p.ToReset {
		if r.Name == name {
			text = append(text, fmt.Sprintf("remove as number %d (all containers are restarted)", i+1))
		}
	}
	for _, u := range p.ToUpdate {
		if u.Name == name {
			text = append(text, u.text())
		}
	}
	if slices.ContainsFunc(starts, func(s Place) bool { return s.Name == name }) {
		text = append(text, "start")
	}
	if len(text) == 0 && p.KillPod {
		return "is not started"
	}
	return cmp.Or(strings.Join(text, "; "), "nothing to do")
}

func (u *Update) text() string {
	if u.Resource == "memory" {
		return fmt.Sprintf("resize memory, request %d to %d, limit %d to %d bytes", u.Current.MemoryRequest, u.Desired.MemoryRequest, u.Current.MemoryLimit, u.Desired.MemoryLimit)
	}
	return fmt.Sprintf("resize cpu, request %dm to %dm, limit %dm to %dm", u.Current.CPURequest, u.Desired.CPURequest, u.Current.CPULimit, u.Desired.CPULimit)
}

// messages returns the messages about a container; "": those about the pod.
func (p *Plan) messages(container string) (out []string) {
	for _, r := range p.Messages {
		if r.Container == container && !slices.Contains(traces, r.Message) && !slices.Contains(out, r.Message) {
			out = append(out, r.Message)
		}
	}
	return out
}

// traces are messages that give no reason: they only say which function runs, or repeat the plan.
var traces = []string{"Computing init container action", "Message for Container of pod", "Syncing Pod"}
