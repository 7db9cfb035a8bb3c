package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// logRate and logBurst bound the notes that all logs make in a second. maxLogCalls bounds the calls whose entry values are
// kept until their exit.
const logRate, logBurst, maxLogCalls = 50, 200, 4096

// logCall is a call in the story of a pod.
type logCall struct {
	pod  *journal.Pod
	span uint64
}

// newLog reads what a request wants logged; nil: nothing.
func newLog(spec *agentpb.AddBreakpointRequest) (*breakpoints.Log, error) {
	act, is := spec.GetAction().(*agentpb.AddBreakpointRequest_Log)
	if !is {
		return nil, nil
	}
	l := &breakpoints.Log{Fields: namesOf(act.Log)}
	var err error
	if l.Filter, err = filter.Parse(act.Log.GetFilter()); err != nil {
		return nil, invalid(agentpb.Problem_BAD_LOG_FILTER, args{"error": err.Error()})
	}
	return l, nil
}

// namesOf returns the names of the values that a log wants; nil: all.
func namesOf(log *agentpb.LogAction) map[string]bool {
	if len(log.GetFields()) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, name := range log.GetFields() {
		out[name] = true
	}
	return out
}

// ofExit are the names of what a note has of each call that has ended, if the call has it.
var ofExit = map[string]bool{"err": true, "error": true, "took": true}

// checkLog returns an error if a log asks for a value that none of its steps has, or has when the log acts. It takes away the
// steps that have none of the values: their notes would be empty.
func (a *Agent) checkLog(b *breakpoints.Breakpoint) error {
	if b.Log == nil || b.Log.Fields == nil {
		return nil
	}
	now, all := map[string]bool{}, maps.Clone(ofExit)
	for id := range b.Steps {
		for _, f := range a.valuesAt(id, b.Side()) {
			now[f.Name] = true
		}
		for _, f := range a.valuesAt(id, exit) {
			all[f.Name] = true
		}
	}
	ofEach := false // the log asks for a value that each step has
	for _, name := range slices.Sorted(maps.Keys(b.Log.Fields)) {
		switch {
		case now[name]:
		case b.Side() == exit && ofExit[name]:
			ofEach = true
		case all[name]:
			return invalid(agentpb.Problem_LATE_LOG_FIELD, args{"field": name})
		default:
			return invalid(agentpb.Problem_BAD_LOG_FIELD, args{"field": name, "fields": strings.Join(slices.Sorted(maps.Keys(now)), ", ")})
		}
	}
	maps.DeleteFunc(b.Steps, func(id int, _ string) bool {
		return !ofEach && !slices.ContainsFunc(a.valuesAt(id, b.Side()), func(f probes.Field) bool { return b.Log.Fields[f.Name] })
	})
	return nil
}

// valuesAt returns the values that a step has at a side of its calls. At the exit these are also those of the entry.
func (a *Agent) valuesAt(id, side int) []probes.Field {
	s := &a.steps[id]
	if side == enter {
		return s.Fields
	}
	return slices.Concat(s.Fields, s.Results)
}

// logCall makes the notes that breakpoints want of an event. The journal calls it with each one.
func (a *Agent) logCall(e journal.Event) {
	entries := a.logEntries
	if !a.points.Logs() {
		clear(entries)
		return
	}
	if e.Pod == nil || e.Step == 0 || e.Kind != agentpb.Kind_ENTER && e.Kind != agentpb.Kind_EXIT {
		return
	}
	values := allFields(&e)
	call := logCall{e.Pod, e.Span}
	if entry, kept := entries[call]; kept && e.Kind == agentpb.Kind_EXIT {
		values = append(entry, values...)
		delete(entries, call)
	}
	for _, b := range a.points.List() {
		switch {
		case b.Log == nil || !b.IsAtStep(int(e.Step)-1) || !e.Pod.Is(b.Pods) || b.Client.Err() != nil:
		case e.Kind == agentpb.Kind_ENTER && b.Side() == exit:
			if len(entries) < maxLogCalls {
				entries[call] = slices.Clone(values)
			}
		case wantsLog(b, &e) && b.Log.Filter.Match(a.shownEvent(&e, values)):
			a.logFor(b, &e, values)
		}
	}
}

// allFields returns the fields of an event in wire form.
func allFields(e *journal.Event) fieldBytes {
	if len(e.Fields) == 0 {
		return e.Wire
	}
	return append(encoded(e.Fields), e.Wire...)
}

// wantsLog reports whether an event is of the side, the outcome and the duration that the breakpoint is for.
func wantsLog(b *breakpoints.Breakpoint, e *journal.Event) bool {
	side := enter
	if e.Kind == agentpb.Kind_EXIT {
		side = exit
	}
	slow := b.Spec.GetSlowerThan()
	return side == b.Side() && (slow == nil || e.Duration >= int64(slow.AsDuration())) && (b.Spec.GetOn() != agentpb.On_ON_ERROR || e.Err != "")
}

// shownEvent returns the event as a client would see it, with these values.
func (a *Agent) shownEvent(e *journal.Event, values fieldBytes) *probes.Event {
	step := &a.steps[e.Step-1]
	p := wire.PodOf(e.Pod.Proto())
	return &probes.Event{
		Seq: e.Seq, Time: time.Unix(0, e.Wall), Mono: e.Mono, Kind: wire.Kind(e.Kind), Stage: step.Stage, Step: step.Name, Pod: &p,
		Span: e.Span, Parent: e.Parent, Sync: e.Sync, Goroutine: a.roles.names[e.Role], DurationNs: e.Duration, Error: e.Err,
		Fields: wire.Fields(values.Protos()),
	}
}

// logFor puts a note with the values that a breakpoint wants into the story of the event's pod.
func (a *Agent) logFor(b *breakpoints.Breakpoint, e *journal.Event, values fieldBytes) {
	if !a.points.CountWithin(a.logRate, b) {
		return
	}
	note := journal.Event{
		Kind: agentpb.Kind_NOTE, Wall: e.Wall, Mono: e.Mono, Step: e.Step, Pod: e.Pod, Span: e.Span, Parent: e.Parent, Sync: e.Sync,
		Role: e.Role, Probe: e.Probe, Err: e.Err, Duration: e.Duration,
		Fields: b.Note(agentpb.NoteLog),
	}
	a.journal.PutWire(&note, values.Only(b.Log.Fields))
}
