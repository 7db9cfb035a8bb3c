package causes

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"
)

// Match recognises a cause by one item of a snapshot. Exactly one of its parts is
// given. Groups with a name in its expressions become arguments of the texts.
type Match struct {
	Waiting    *Waiting    `yaml:"waiting"`
	Terminated *Terminated `yaml:"terminated"`
	Condition  *Conditions `yaml:"condition"`
	Pod        *PodStatus  `yaml:"pod"`
	Event      *EventMatch `yaml:"event"`
	Goroutine  *Stack      `yaml:"goroutine"`
	Log        *LogLine    `yaml:"log"`
	Failed     *Step       `yaml:"failed"`
	Open       *Step       `yaml:"open"`
	Unfit      *Unfit      `yaml:"unfit"`
	Denied     *Denied     `yaml:"denied"`

	// Sure is how sure the match makes the cause; empty: as sure as matches of its kind do.
	Sure Confidence `yaml:"sure"`
	// Young is as in Cause, for this match alone. The longer of the two counts.
	Young time.Duration `yaml:"young"`
	// In is as in Cause, for this match alone. It stands in place of the cause's.
	In []Phase `yaml:"in"`

	find func(*Case, *Cause) []Finding // find of its part
}

// Waiting is a container that waits, as the API server or the kubelet has it.
type Waiting struct {
	Reason    Strings `yaml:"reason"` // one of them; none: any
	Message   Expr    `yaml:"message"`
	Container string  `yaml:"container"` // app, init; empty: any
	// Last is how the container ended before.
	LastReason  Strings `yaml:"lastReason"`
	LastExit    []int32 `yaml:"lastExit"`
	LastMessage Expr    `yaml:"lastMessage"`
	// For is how long the pod must have been in its phase.
	For time.Duration `yaml:"for"`
}

// Terminated is a container that has ended and has not been started again yet, or never will be.
type Terminated struct {
	Reason    Strings `yaml:"reason"`
	Exit      []int32 `yaml:"exit"`
	Message   Expr    `yaml:"message"`
	Container string  `yaml:"container"`
}

// Conditions is a condition of the pod, or of its node if Node is set.
type Conditions struct {
	Type    string  `yaml:"type"`
	Status  string  `yaml:"status"` // True, False, Unknown; empty: any
	Reason  Strings `yaml:"reason"`
	Message Expr    `yaml:"message"`
	Node    bool    `yaml:"node"`
	// For is how long the condition must have been so.
	For time.Duration `yaml:"for"`
}

// PodStatus is the reason and message of a pod that failed.
type PodStatus struct {
	Reason  Strings `yaml:"reason"`
	Message Expr    `yaml:"message"`
}

// EventMatch is an event of the API server. It counts if it is not older than Fresh,
// and not older than the pod's present phase.
type EventMatch struct {
	Reason  Strings       `yaml:"reason"`
	Message Expr          `yaml:"message"`
	Not     Expr          `yaml:"not"`   // what the message must not have
	Of      string        `yaml:"of"`    // kind of the object; empty: Pod
	Fresh   time.Duration `yaml:"fresh"` // 0: ten minutes
	// Count is how often it came at least.
	Count int `yaml:"count"`
	// Any also accepts events from before the phase.
	Any bool `yaml:"any"`
	// Again says how whoever wrote the event tries again. An event is over when the next one
	// should have come. Its one value is volume: an operation on a volume, which backs off.
	// Count then counts how often the operation failed, whatever the errors were.
	Again string `yaml:"again"`
	// Until are the reasons of later events that end this one. They are about the same object,
	// and about the same container if this event is about one.
	Until Strings `yaml:"until"`
}

// Stack is a goroutine of the kubelet.
type Stack struct {
	// Func is a function on the stack, Also another one further out, and Not one that
	// must not be there.
	Func Expr `yaml:"func"`
	Also Expr `yaml:"also"`
	Not  Expr `yaml:"not"`
	// For is how long the goroutine has waited at least. The dump has whole minutes.
	For time.Duration `yaml:"for"`
	// Node accepts goroutines of the node's, such as the sync loop, besides those of the pod's worker.
	Node bool `yaml:"node"`
}

// LogLine is one of the kubelet's log.
type LogLine struct {
	Message Expr          `yaml:"message"`
	Error   Expr          `yaml:"error"`
	Fresh   time.Duration `yaml:"fresh"` // 0: five minutes
	// Node accepts lines that do not name the pod.
	Node bool `yaml:"node"`
}

// Step is a call of a step of the pod's story: one that goes on, or one that failed
// and has not succeeded since.
type Step struct {
	Step   Strings         `yaml:"step"` // one of them, as globs
	Error  Expr            `yaml:"error"`
	Not    Expr            `yaml:"not"` // what the error must not have
	Fields map[string]Expr `yaml:"fields"`
	For    time.Duration   `yaml:"for"` // how long it goes on
	// Inside is a step that has to go on around it.
	Inside Strings `yaml:"inside"`
	// Innermost accepts only a call inside which no other call goes on.
	Innermost bool `yaml:"innermost"`
}

// Unfit is one of the reasons for which a scheduler refuses nodes, or the pod for
// every node. It gives the arguments count and nodes: how many nodes are refused for
// this reason, and how many there are.
type Unfit struct {
	Text Expr `yaml:"text"`
}

// Denied is an answer by which the API server refuses an owner's new pods. It gives the
// arguments kind, owner and answer.
type Denied struct {
	Text Expr `yaml:"text"`
}

// Strings is a list that may be written as one string.
type Strings []string

// UnmarshalYAML reads one string, or a list of them.
func (s *Strings) UnmarshalYAML(n *yaml.Node) error {
	var one string
	if n.Decode(&one) == nil {
		*s = Strings{one}
		return nil
	}
	return n.Decode((*[]string)(s))
}

func (s Strings) has(text string) bool {
	for _, t := range s {
		if t == text {
			return true
		}
	}
	return len(s) == 0
}

// Expr is a regular expression; the zero one matches every text.
type Expr struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (e *Expr) UnmarshalYAML(n *yaml.Node) error {
	var text string
	if err := n.Decode(&text); err != nil {
		return err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return err
	}
	e.Regexp = re
	return nil
}

// maxMatched bounds the part of a text that is looked at, in bytes: an API object may have a
// message of a megabyte.
const maxMatched = 8 << 10

// in looks for the expression in a text, and adds its named groups to args.
func (e Expr) in(text string, args Args) bool {
	if e.Regexp == nil {
		return true
	}
	if len(text) > maxMatched {
		text = text[:maxMatched]
	}
	m := e.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range e.SubexpNames() {
		if name != "" && m[i] != "" {
			args[name] = m[i]
		}
	}
	return true
}

func (e Expr) given() bool { return e.Regexp != nil }

// compile checks that a match is whole, and finds its part.
func (m *Match) compile() error {
	n := 0
	for _, p := range m.parts() {
		if p.given {
			n++
			m.find = p.find
		}
	}
	switch {
	case n != 1:
		return fmt.Errorf("a match has %d parts, not one", n)
	case m.Goroutine != nil && !m.Goroutine.Func.given():
		return errors.New("a match of a goroutine has no func")
	case m.Event != nil && m.Event.Again != "" && m.Event.Again != againVolume:
		return fmt.Errorf("%q is no way of trying again", m.Event.Again)
	case m.Log != nil && !m.Log.Message.given() && !m.Log.Error.given():
		return errors.New("a match of a log line has no message and no error")
	case m.Unfit != nil && !m.Unfit.Text.given():
		return errors.New("a match of a scheduler's reason has no text")
	case m.Denied != nil && !m.Denied.Text.given():
		return errors.New("a match of an answer to an owner has no text")
	case m.Condition != nil && m.Condition.Type == "":
		return errors.New("a match of a condition has no type")
	case m.Failed != nil && len(m.Failed.Step) == 0 && !m.Failed.Error.given():
		return errors.New("a match of a failed call has no step and no error")
	case m.Open != nil && len(m.Open.Step) == 0:
		return errors.New("a match of a call that goes on has no step")
	}
	if m.Sure != "" && m.Sure.rank() == 0 {
		return fmt.Errorf("%q is no confidence", m.Sure)
	}
	if m.Sure == Certain && (m.Event != nil || m.Log != nil) {
		return errors.New("an event and a line of a log alone make nothing certain: what they say may be over")
	}
	return nil
}

// expr is an expression of a check.
func expr(text string) Expr { return Expr{regexp.MustCompile(text)} }
