package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/values"
)

// logInsideWithin bounds how long a goroutine stands at a place for the values of one log, maxExpressions how many values
// these are.
const (
	logInsideWithin = 500 * time.Millisecond
	maxExpressions  = 8
)

// logInside makes the notes that breakpoints want at the place to which a goroutine has come. The goroutine stands until the
// debugger has read the values. The limits of snapshots bound that: the whole kubelet stands still for each value.
func (a *Agent) logInside(s *span, ps *podSpan, goroutine uintptr, at Found) {
	d := a.probes[s.probe].debugger.Load()
	if d == nil {
		return
	}
	t, here := a.points, crossing{s, ps, enter, ""}
	for _, b := range t.List() {
		if b.Log == nil || !b.IsAt(at.Address) || !a.applies(b, here) || !t.IsWithin(a.snapshotRate, b) {
			continue
		}
		fields, want := readInside(b, d, uint64(goroutine))
		if !want {
			continue
		}
		if acts, there := t.Count(b); acts && there {
			a.putEnter(s, ps)
			a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_NOTE, Fields: b.Note(agentpb.NoteLog, fields...)})
		}
	}
}

// readInside reads the values that a breakpoint logs at a place. want is false if its condition is not true there. A value
// that cannot be read is the reason.
func readInside(b *breakpoints.Breakpoint, d *Debugger, goroutine uint64) (fields []field, want bool) {
	ctx, cancel := context.WithTimeout(b.Client, logInsideWithin)
	defer cancel()
	look := func(expression string) (*agentpb.LookResponse, error) {
		return d.Look(ctx, goroutine, &agentpb.LookRequest{Expression: expression})
	}
	if condition := b.Spec.GetLog().GetFilter(); condition != "" {
		switch is, err := look(condition); {
		case err != nil:
			fields = append(fields, text("condition", values.Error(err)))
		case is.GetValue().GetValue() != "true":
			return nil, false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Log.Fields)) {
		value, err := look(name)
		shown := values.Text(value.GetValue().GetValue())
		if err != nil {
			shown = values.Error(err)
		}
		fields = append(fields, text(noteName(name), shown))
	}
	if b.Log.Fields == nil {
		all, err := look("")
		without := all.GetWithout()
		if err != nil {
			without = values.Error(err)
		}
		if without != "" {
			fields = append(fields, text("variables", without))
		}
		for _, v := range slices.Concat(all.GetArguments(), all.GetLocals()) {
			fields = append(fields, text(noteName(v.GetName()), values.Text(v.GetValue())))
		}
	}
	return fields, true
}

// ofNotes are the fields of notes that say what the note is about.
var ofNotes = []string{"note", "breakpoint", "held", "text", "stack", fieldSeen}

// noteName returns the name that a variable has in a note. The note has fields of its own.
func noteName(variable string) string {
	if slices.Contains(ofNotes, variable) {
		return "(" + variable + ")"
	}
	return variable
}
