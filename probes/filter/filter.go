// Package filter is the language in which a person says which events to see, in
// `podstep trace`, `podstep replay` and the terminal UI:
//
//	ns=shop pod~web-* step~cri.* kind=exit slow>2s
//	err or (stage=image -kind=note)
//	error~"not found" field.image~busybox
//
// Terms beside each other must all match. The package knows events and nothing
// of where they come from.
package filter

import (
	"slices"

	"github.com/podstep/podstep/probes"
)

// Filter selects events. The zero Filter selects all. It does not change, and
// may be used by several goroutines.
type Filter struct{ root expr }

// Answer is what a filter says about an event that is known in part.
type Answer int8

const (
	No Answer = iota
	// Maybe: only the whole event can decide.
	Maybe
	Yes
)

// Parse reads a filter. An error is a *SyntaxError.
func Parse(text string) (*Filter, error) {
	if len(text) > maxLength {
		return nil, &SyntaxError{Filter: text[:maxLength], Column: maxLength, Why: "the filter is too long"}
	}
	p := &parser{text: text}
	p.space()
	if p.end() {
		return &Filter{}, nil
	}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if !p.end() {
		return nil, p.fail(p.at, "this ) has no opening (")
	}
	return &Filter{root}, nil
}

// String returns the filter in a form that Parse reads to the same filter.
func (f *Filter) String() string {
	if f.root == nil {
		return ""
	}
	return f.root.text()
}

// Empty reports whether the filter selects all events.
func (f *Filter) Empty() bool { return f.root == nil }

// Match reports whether the filter selects an event.
func (f *Filter) Match(e *probes.Event) bool {
	return f.root == nil || f.root.match(e, everything) == Yes
}

// MatchPod reports whether the filter may select events of a pod, going by its name and by its error, if it has
// one. Terms about anything else do not count: a pod has events of all kinds.
func (f *Filter) MatchPod(p *probes.Pod, err string) bool {
	return f.root == nil || f.root.match(&probes.Event{Pod: p, Error: err}, podAlone) != No
}

// NamesPods reports whether the filter chooses among pods: by a key that is about the pod,
// or by a word, which may be a pod's name.
func (f *Filter) NamesPods() bool { return f.root != nil && namesPods(f.root) }

func namesPods(x expr) bool {
	switch x := x.(type) {
	case all:
		return slices.ContainsFunc(x, namesPods)
	case some:
		return slices.ContainsFunc(x, namesPods)
	case not:
		return namesPods(x.expr)
	case *term:
		return x.key.ofPod && x.key.sort != textKey
	case *word:
		return true
	}
	return false
}

// MatchOutline is Match for an event whose Fields are not decoded. It answers Maybe if only the fields can decide;
// Match then has the answer.
func (f *Filter) MatchOutline(e *probes.Event) Answer {
	if f.root == nil {
		return Yes
	}
	return f.root.match(e, outline)
}

// knowledge is how much of an event is known.
type knowledge int8

const (
	everything knowledge = iota
	outline              // not its fields
	podAlone             // its pod, and an error
)

// expr is a part of a filter.
type expr interface {
	match(e *probes.Event, k knowledge) Answer
	text() string
}

type (
	all  []expr // two or more
	some []expr // two or more
	not  struct{ expr }
)

func (a all) match(e *probes.Event, k knowledge) Answer {
	worst := Yes
	for _, x := range a {
		if worst = min(worst, x.match(e, k)); worst == No {
			break
		}
	}
	return worst
}

func (s some) match(e *probes.Event, k knowledge) Answer {
	best := No
	for _, x := range s {
		if best = max(best, x.match(e, k)); best == Yes {
			break
		}
	}
	return best
}

func (n not) match(e *probes.Event, k knowledge) Answer { return Yes - n.expr.match(e, k) }

func (a all) text() string {
	s := ""
	for i, x := range a {
		if i > 0 {
			s += " "
		}
		if _, weaker := x.(some); weaker {
			s += "(" + x.text() + ")"
		} else {
			s += x.text()
		}
	}
	return s
}

func (s some) text() string {
	text := s[0].text()
	for _, x := range s[1:] {
		text += " or " + x.text()
	}
	return text
}

func (n not) text() string {
	switch n.expr.(type) {
	case all, some:
		return "-(" + n.expr.text() + ")"
	}
	return "-" + n.expr.text()
}
