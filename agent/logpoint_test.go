package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

func logOf(filter string, fields ...string) *agentpb.AddBreakpointRequest_Log {
	return &agentpb.AddBreakpointRequest_Log{Log: &agentpb.LogAction{Fields: fields, Filter: filter}}
}

// logged returns the notes that logs made of a pod.
func (r *rig) logged(pod string) (out []*agentpb.Event) {
	r.settle() // the events are kept, and the notes are put
	for _, e := range r.events(pod) {
		if e.Kind == agentpb.Kind_NOTE && wire.Fields(e.Fields)["note"] == agentpb.NoteLog {
			out = append(out, e)
		}
	}
	return out
}

// TestLog: values of a call come into the pod's story at its exit, those of its entry too, and nobody is held: not even where
// an agent is read-only.
func TestLog(t *testing.T) {
	r := newRig(t, Options{ReadOnly: true})
	web, db := newPod("default", "web"), newPod("default", "db")
	for _, spec := range []*agentpb.AddBreakpointRequest{
		{Step: "sync.pod", On: agentpb.On_ON_EXIT, Pods: &agentpb.PodSelector{Name: "web"}, Action: logOf("", "updateType", "err")},
		{Step: "sync.pod", Action: logOf("pod=db")},
		{Step: "sync.pod", On: agentpb.On_ON_ERROR, Action: logOf(`error~"no such"`, "took")},
		{Step: "sync.pod", On: agentpb.On_ON_EXIT, SlowerThan: durationpb.New(time.Hour), Action: logOf("")},
		{Step: "sync.*", On: agentpb.On_ON_EXIT, Action: logOf("kind=enter")},
	} {
		if _, err := r.addBreakpoint(spec); err != nil {
			t.Fatal(err)
		}
	}
	if r.holds.Armed() != 0 {
		t.Error("the probes are told to prepare for stops")
	}
	_ = r.sync(web, nil)
	_ = r.sync(web, func() error { return errors.New("no such volume") })
	_ = r.sync(db, nil)
	var got []string
	for _, pod := range []string{"web", "db"} {
		for _, e := range r.logged(pod) {
			if e.Span == 0 || r.name(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: e.Step}) == "" {
				t.Errorf("a note of no call: %v", e)
			}
			got = append(got, pod+": "+reason.Note(wire.Fields(e.Fields)).En+" "+e.Error)
		}
	}
	want := []string{
		"web: breakpoint 1: updateType=create ", "web: breakpoint 1: updateType=create no such volume", "web: breakpoint 3:  no such volume",
		"db: breakpoint 2: updateType=create ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range 5 {
		r.points.Remove(uint32(i + 1))
	}
	_ = r.sync(web, nil)
	if r.logged("web"); r.points.Logs() || len(r.logEntries) != 0 {
		t.Errorf("logs are armed: %t, and %d entries kept", r.points.Logs(), len(r.logEntries))
	}
}

// TestLogRefused: what cannot be logged is refused, with the reason.
func TestLogRefused(t *testing.T) {
	r := newRig(t, Options{})
	for want, spec := range map[string]*agentpb.AddBreakpointRequest{
		"no step here has a value named colour; there are: isTerminal, updateType": {Step: "sync.pod", On: agentpb.On_ON_EXIT, Action: logOf("", "updateType", "colour")},
		"the value isTerminal is there only when the step returns":                 {Step: "sync.pod", Action: logOf("", "updateType", "isTerminal")},
		"the value took is there only when the step returns":                       {Step: "sync.*", Action: logOf("", "took")},
		"the filter cannot be read":                                                {Step: "sync.pod", Action: logOf("(")},
		"a breakpoint at a place of the code holds or logs":                        {At: "a.go:1", Step: "sync.pod", Action: logOf("")},
	} {
		if _, err := r.addBreakpoint(spec); err == nil || !strings.Contains(reason.Error(err).En, want) {
			t.Errorf("the answer is %v, want %q", err, want)
		}
	}
	if r.points.Logs() {
		t.Error("a log that was refused is armed")
	}
}

// TestLogOfManySteps: where steps are named by a pattern, a log is for those that have one of its values.
func TestLogOfManySteps(t *testing.T) {
	r := newRig(t, Options{})
	for _, c := range []struct {
		fields []string
		all    bool
	}{{[]string{"updateType"}, false}, {[]string{"updateType", "took"}, true}, {nil, true}} {
		b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.*", On: agentpb.On_ON_EXIT, Action: logOf("", c.fields...)})
		if err != nil {
			t.Fatal(err)
		}
		if all := slices.Contains(b.Steps, "sync.volumes"); !slices.Contains(b.Steps, "sync.pod") || all != c.all {
			t.Errorf("a log of %q is at %q", c.fields, b.Steps)
		}
	}
}

// TestLogsAreBounded: however many calls there are, logs make only so many notes in a second, and count the others.
func TestLogsAreBounded(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", Action: logOf("")}); err != nil {
		t.Fatal(err)
	}
	const calls = 5 * logBurst
	begun := time.Now()
	for range calls {
		_ = r.call("sync.volumes", []any{p}, nil, nil)
	}
	r.settle()
	most := logBurst + int(time.Since(begun).Seconds()*logRate) + 1
	got := r.points.Proto(r.points.List()[0])
	if int(got.Hits) > most || got.Hits+got.Missed != calls {
		t.Errorf("%d calls were logged and %d were not; at most %d may be", got.Hits, got.Missed, most)
	}
}

// TestNamesOfLogs: no step has a value with a name that a note of a log needs for itself.
func TestNamesOfLogs(t *testing.T) {
	c := probes.MustLoad()
	for i := range c.Steps {
		for _, f := range append(c.Steps[i].Fields, c.Steps[i].Results...) {
			if f.Name == "note" || f.Name == "breakpoint" || ofExit[f.Name] {
				t.Errorf("step %s has a value %s", c.Steps[i].Name, f.Name)
			}
		}
	}
}

// oneLog makes the events of a call that is logged.
func oneLog(r *rig) []*agentpb.Event {
	_, _ = r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", Action: logOf("")})
	p := newPod("default", "web")
	_ = r.sync(p, func() error { return r.call("sync.volumes", []any{p}, nil, nil) })
	return r.logged("web")
}
