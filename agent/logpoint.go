package agent

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// logRate and logBurst bound the notes that all logs make in a second. maxLogCalls bounds the calls whose entry values are
// kept until their exit.
const logRate, logBurst, maxLogCalls = 50, 200, 4096

// logs is what the table of the breakpoints knows of those that log. They act on events, on the agent's own goroutine: the
// kubelet pays nothing for them.
type logs struct {
	armedLogs atomic.Int32
	logRate   *rate.Limiter
	// entries has the values of the entries of calls whose exit a log wants. Only the agent's goroutine uses it.
	entries map[logCall]fieldBytes
}

// logCall is a call in the story of a pod.
type logCall struct {
	pod  *journal.Pod
	span uint64
}

func (t *logs) initLogs() {
	t.logRate = rate.NewLimiter(logRate, logBurst)
	t.entries = map[logCall]fieldBytes{}
}

// logAction is what a breakpoint that logs wants.
type logAction struct {
	fields map[string]bool // nil: all
	filter *filter.Filter
}

// newLogAction reads the action of a request; nil: it is another one.
func newLogAction(spec *agentpb.AddBreakpointRequest) (*logAction, error) {
	act, is := spec.GetAction().(*agentpb.AddBreakpointRequest_Log)
	if !is {
		return nil, nil
	}
	l := &logAction{fields: namesOf(act.Log)}
	var err error
	if l.filter, err = filter.Parse(act.Log.GetFilter()); err != nil {
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
func (a *Agent) checkLog(b *breakpoint) error {
	if b.log == nil || b.log.fields == nil {
		return nil
	}
	now, all := map[string]bool{}, maps.Clone(ofExit)
	for id := range b.steps {
		for _, f := range a.valuesAt(id, b.side()) {
			now[f.Name] = true
		}
		for _, f := range a.valuesAt(id, exit) {
			all[f.Name] = true
		}
	}
	ofEach := false // the log asks for a value that each step has
	for _, name := range slices.Sorted(maps.Keys(b.log.fields)) {
		switch {
		case now[name]:
		case b.side() == exit && ofExit[name]:
			ofEach = true
		case all[name]:
			return invalid(agentpb.Problem_LATE_LOG_FIELD, args{"field": name})
		default:
			return invalid(agentpb.Problem_BAD_LOG_FIELD, args{"field": name, "fields": strings.Join(slices.Sorted(maps.Keys(now)), ", ")})
		}
	}
	maps.DeleteFunc(b.steps, func(id int, _ bool) bool {
		return !ofEach && !slices.ContainsFunc(a.valuesAt(id, b.side()), func(f probes.Field) bool { return b.log.fields[f.Name] })
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
	t := &a.points
	if t.armedLogs.Load() == 0 {
		clear(t.entries)
		return
	}
	if e.Pod == nil || e.Step == 0 || e.Kind != agentpb.Kind_ENTER && e.Kind != agentpb.Kind_EXIT {
		return
	}
	values := allFields(&e)
	call := logCall{e.Pod, e.Span}
	if entry, kept := t.entries[call]; kept && e.Kind == agentpb.Kind_EXIT {
		values = append(entry, values...)
		delete(t.entries, call)
	}
	for _, b := range t.list() {
		switch {
		case b.log == nil || !b.steps[int(e.Step)-1] || !e.Pod.Is(b.pods) || b.client.Err() != nil:
		case e.Kind == agentpb.Kind_ENTER && b.side() == exit:
			if len(t.entries) < maxLogCalls {
				t.entries[call] = slices.Clone(values)
			}
		case b.wants(&e) && b.log.filter.Match(a.shownEvent(&e, values)):
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

// wants reports whether an event is of the side, the outcome and the duration that the breakpoint is for.
func (b *breakpoint) wants(e *journal.Event) bool {
	side := enter
	if e.Kind == agentpb.Kind_EXIT {
		side = exit
	}
	slow := b.spec.GetSlowerThan()
	return side == b.side() && (slow == nil || e.Duration >= int64(slow.AsDuration())) && (b.spec.GetOn() != agentpb.On_ON_ERROR || e.Err != "")
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
func (a *Agent) logFor(b *breakpoint, e *journal.Event, values fieldBytes) {
	if !a.points.countWithin(a.points.logRate, b) {
		return
	}
	note := journal.Event{
		Kind: agentpb.Kind_NOTE, Wall: e.Wall, Mono: e.Mono, Step: e.Step, Pod: e.Pod, Span: e.Span, Parent: e.Parent, Sync: e.Sync,
		Role: e.Role, Probe: e.Probe, Err: e.Err, Duration: e.Duration,
		Fields: b.note(agentpb.NoteLog),
	}
	a.journal.PutWire(&note, values.Only(b.log.fields))
}
