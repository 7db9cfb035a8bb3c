package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// loggedState returns a state with a pod in whose sync.pod call logs have made notes: breakpoint 1 at the step, breakpoint 2 at a
// line.
func loggedState() *State {
	info := agenttest.Info()
	s := New(info, probes.MustLoad(), words.English)
	step := eventtest.Step(info, "sync.pod")
	events := []*agentpb.Event{{Seq: 1, Time: 1, Mono: 1, Kind: agentpb.Kind_ENTER, Step: step, Pod: 1, Span: 1}}
	for i := range 2 * shownLogs {
		seq := uint64(len(events) + 1)
		events = append(events, &agentpb.Event{
			Seq: seq, Time: int64(seq) * int64(time.Second), Mono: int64(seq), Kind: agentpb.Kind_NOTE, Step: step, Pod: 1, Span: 1,
			Fields: []*agentpb.Field{eventtest.Field("note", agentpb.NoteLog), eventtest.Field("breakpoint", int64(1+i%2)), eventtest.Field("turn", int64(i))},
		})
	}
	b := eventtest.Batch(events...)
	b.Pods = []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}}
	s.Add(b)
	s.SelectPodNamed("default", "web")
	return s
}

func logAt(id uint32, pods *agentpb.PodSelector) *agentpb.Breakpoint {
	return &agentpb.Breakpoint{Id: id, Hits: 5, Spec: &agentpb.AddBreakpointRequest{Pods: pods, Action: &agentpb.AddBreakpointRequest_Log{Log: &agentpb.LogAction{}}}}
}

// TestPoints: a step and a line say which breakpoints there are, each with the last values of its own log.
func TestPoints(t *testing.T) {
	s := loggedState()
	atStep, atLine := logAt(1, nil), logAt(2, &agentpb.PodSelector{Namespace: "default", Name: "w*"})
	atStep.Steps = []string{"sync.pod"}
	atLine.Spec.At = "kubelet.go:1900"
	atLine.Places = []*agentpb.StackFrame{{File: "/go/k8s.io/kubernetes/pkg/kubelet/kubelet.go", Line: 1900}}
	s.SetBreakpoints([]*agentpb.Breakpoint{atStep, atLine, {Id: 3, Steps: []string{"sync.pod"}, Spec: &agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{Name: "other"}}}}, time.Unix(1, 0))
	if p := s.pointAtStep(s.podAt(s.pod), "sync.pod"); p != (screen.Point{Logs: true}) {
		t.Errorf("at the step: %+v", p)
	}
	if p := s.PointAt("pkg/kubelet/kubelet.go", 1900); !p.Logs || p.Acts || !strings.HasSuffix(p.Last, "turn=9") {
		t.Errorf("at the line: %+v", p)
	}
	for _, other := range []screen.Point{s.PointAt("pkg/kubelet/kubelet.go", 1901), s.PointAt("pkg/other/kubelet.go", 1900), s.pointAtStep(s.podAt(s.pod), "sync.volumes")} {
		if other != (screen.Point{}) {
			t.Errorf("elsewhere: %+v", other)
		}
	}
	d := &screen.Detail{Mark: 0, First: 7, Place: "pkg/kubelet/pod_workers.go:7", Source: []string{"x"}}
	s.pointsOf(s.h.StepNamed("sync.pod"), s.view(), d)
	if p := d.Points[7]; !p.Logs || !strings.HasSuffix(p.Last, "turn=8") {
		t.Errorf("the line that calls the step: %+v", p)
	}
	if len(d.Logs) != shownLogs || d.Logs[0].Text != "turn=9" || !strings.HasSuffix(d.Logs[0].Name, "#2") {
		t.Errorf("the last values are %v", d.Logs)
	}
}

// TestCounted: the list of breakpoints says what a log has logged and dropped, and what a breakpoint let pass.
func TestCounted(t *testing.T) {
	s := loggedState()
	none, some := logAt(1, nil), logAt(2, nil)
	some.Missed = 3
	for want, b := range map[string]*agentpb.Breakpoint{
		"logged 5, dropped none": none, "logged 5, dropped 3": some, "let 2 pass": {Missed: 2, Spec: &agentpb.AddBreakpointRequest{}}, "": {Spec: &agentpb.AddBreakpointRequest{}},
	} {
		if got := s.countedBy(b); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoteOfLog: the detail of a note that a log made has the whole values, which its row cuts.
func TestNoteOfLog(t *testing.T) {
	s := loggedState()
	d := &screen.Detail{}
	s.noteDetail(&line{key: lineKey{kind: keyNote, a: s.podAt(s.pod).Notes.Last().Pos}}, s.view(), d)
	if got := fmt.Sprint(d.Title, d.Args); got != "logged by breakpoint 2[{turn 9}]" {
		t.Errorf("the detail is %s", got)
	}
}
