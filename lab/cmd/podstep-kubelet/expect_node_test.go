//go:build node

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// values are fields of an event by name. They are compared as text: numbers
// that went through JSON have another type.
type values map[string]any

// expected is an event that a story must have.
type expected struct {
	kind   probes.Kind
	step   string
	fields values
}

func enter(step string, fields values) expected { return expected{probes.Enter, step, fields} }
func exit(step string, fields values) expected  { return expected{probes.Exit, step, fields} }

func (x expected) String() string {
	if x.fields == nil {
		return fmt.Sprintf("%s of %s", x.kind, x.step)
	}
	return fmt.Sprintf("%s of %s with %v", x.kind, x.step, x.fields)
}

func (x expected) is(e probes.Event) bool {
	if e.Kind != x.kind || e.Step != x.step {
		return false
	}
	for name, v := range x.fields {
		if fmt.Sprint(e.Fields[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}

// inOrder finds the expected events one after another, whatever other events are in between, and returns them.
func inOrder(t *testing.T, events []probes.Event, want []expected) (found []probes.Event) {
	t.Helper()
	at := 0
	for i, x := range want {
		n := slices.IndexFunc(events[at:], x.is)
		if n < 0 {
			after := "the beginning"
			if i > 0 {
				after = fmt.Sprintf("the %v at %d", want[i-1], found[i-1].Seq)
			}
			t.Fatalf("the story has no %v after %s; it has:\n%s", x, after, near(events, x.step))
		}
		at += n + 1
		found = append(found, events[at-1])
	}
	return found
}

// near returns the events of one step as text: the expected event may be there with another field, or too early.
func near(events []probes.Event, step string) string {
	var b strings.Builder
	for _, e := range events {
		if e.Step == step {
			text, _ := json.Marshal(e)
			fmt.Fprintf(&b, "\t%s\n", text)
		}
	}
	if b.Len() == 0 {
		return "\tnothing of that step"
	}
	return b.String()
}

// nests checks that an event happened in a call of the first step, which was in
// one of the second, and so on.
func nests(t *testing.T, events []probes.Event, e probes.Event, in ...string) {
	t.Helper()
	enters := map[uint64]probes.Event{}
	for _, e := range events {
		if e.Kind == probes.Enter {
			enters[e.Span] = e
		}
	}
	for _, step := range in {
		up, ok := enters[e.Parent]
		if !ok || up.Step != step {
			t.Errorf("%s at %d is in %q, want it in %s", e.Step, e.Seq, up.Step, step)
			return
		}
		e = up
	}
}

// wellFormed checks what holds for the events of any story from its beginning. With whole, the story and all of its
// calls have ended.
func wellFormed(t *testing.T, events []probes.Event, whole bool) {
	t.Helper()
	open, enters := map[uint64]bool{}, map[uint64]probes.Event{}
	last := uint64(0)
	for _, e := range events {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s of %s at %d: %s", e.Kind, e.Step, e.Seq, fmt.Sprintf(format, args...))
		}
		if e.Seq <= last {
			bad("it comes after %d", last)
		}
		last = e.Seq
		if e.Time.IsZero() || e.Pod == nil || e.Stage == "" || e.Probe != "woven" {
			bad("no time, pod, stage or probe: %+v", e)
		}
		switch e.Kind {
		case probes.Enter:
			if _, twice := enters[e.Span]; twice || e.Span == 0 {
				bad("span %d is not its own", e.Span)
			}
			enters[e.Span], open[e.Span] = e, true
			if up, ok := enters[e.Parent]; e.Parent != 0 && (!ok || e.Time.Before(up.Time)) {
				bad("it begins before its parent %s", up.Step)
			}
		case probes.Exit:
			in := enters[e.Span]
			if !open[e.Span] || in.Step != e.Step || in.Parent != e.Parent {
				bad("it is not the exit of an enter")
			}
			if e.DurationNs <= 0 || e.Time.Before(in.Time) {
				bad("it took %d ns", e.DurationNs)
			}
			delete(open, e.Span)
		default:
			bad("nobody held this pod or disturbed it: %v", e.Fields)
		}
	}
	for span := range open {
		if whole {
			t.Errorf("%s at %d has no exit", enters[span].Step, enters[span].Seq)
		}
	}
}
