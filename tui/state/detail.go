package state

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// detail returns all that is known of the selected row's step.
func (s *State) detail(n *line, v *view) *screen.Detail {
	if n == nil {
		return nil
	}
	d := &screen.Detail{Mark: none, Top: s.detailTop}
	id := s.stepOf(n)
	if n.key.kind == keyNote {
		s.noteDetail(n, v, d)
		return d
	}
	if id == 0 {
		return s.groupDetail(n, v)
	}
	st := s.h.Step(id)
	s.aboutStep(id, v, d)
	ref := n.span
	if n.kind == screen.RowFolded {
		ref = s.foldedSpan(n)
	}
	c := s.h.Call(ref, v.at)
	s.heldDetail(ref, d, v)
	if c.Span == nil {
		d.Missing = s.missing(id, v, nil)
		s.sourceOf(st, none, d)
		s.pointsOf(id, v, d)
		return d
	}
	if c.Known {
		d.Began = time.Unix(0, s.h.Origin()+c.Start)
	}
	d.Took, d.Error = c.Took(v.now), words.Clean(s.errorOf(&c))
	if g := s.h.EpochAt(c.Enter).Goroutine(uint32(c.Goroutine)); g != "" && s.h.EpochAt(c.Enter).Knows(c.Enter).Workers {
		d.Goroutine = words.Clean(g)
	}
	s.values(&c, d)
	s.evidence(&c, ref, v, d)
	s.sourceOf(st, ref, d)
	s.pointsOf(id, v, d)
	return d
}

// groups say what rows are for that have other rows beneath them and belong to no step.
var groups = map[byte]probes.Text{
	keyChapter: words.Text("A part of the story. The times beside its rows count from its beginning.", "经过的一个部分。各行旁的时间从该部分开始时算起。"),
	keyReports: words.Text("What was reported here and says what other rows say as well.", "此处上报的、其他行已经说明的内容。"),
	keyRoutine: words.Text("Calls here that only look, and change nothing: the kubelet makes them again and again.", "此处只查看、不改变任何东西的调用：kubelet 会反复进行。"),
	keyUnseen:  words.Text("Stages of the pod's way that no probe sees here.", "此处没有探针能看到的阶段。"),
}

// groupDetail returns the detail of a row that has others beneath it and belongs to no step.
func (s *State) groupDetail(n *line, v *view) *screen.Detail {
	p, about := s.podAt(s.pod), groups[n.key.kind]
	if stage := s.stageOf(n); stage != nil {
		about = stage.Text
	}
	if p == nil || about.En == "" {
		return nil
	}
	r := s.row(p, n, v)
	return &screen.Detail{Mark: none, Top: s.detailTop, Title: r.Label, Took: r.Took, Text: s.lang.In(about)}
}

// heldDetail says how long a pod that is held at a call stays held.
func (s *State) heldDetail(ref int, d *screen.Detail, v *view) {
	if now := v.pod(s.pod); ref != none && now.Holds > 0 && now.Held == ref {
		d.Held = s.lang.Sentences(s.heldWords(s.pod, now, v), s.askedBy(now, v))
	}
}

// foldedSpan returns the last call of a fold.
func (s *State) foldedSpan(n *line) int {
	p := s.podAt(s.pod)
	if n.key.kind == keyFold {
		if t := p.Turns.At(n.last); t != nil {
			return t.Span
		}
		return none
	}
	if it := p.Items.At(n.last); it != nil {
		return it.Span
	}
	return none
}

// aboutStep fills in the parts that do not depend on a call.
func (s *State) aboutStep(id history.StepID, v *view, d *screen.Detail) {
	st := s.h.Step(id)
	d.Step, d.Title = st.Name, s.title(st)
	if st.About != nil {
		d.Text = s.lang.In(st.About.Text)
		d.Goroutine = st.About.Goroutine
		d.Logged = logged(st.About)
	}
	if !v.knows().Workers {
		d.Goroutine = "" // nobody sees whose call it is
	}
	switch why, is := v.unseen(id); {
	case !is:
	case !v.knows().Turns: // most steps are not: no failure
		d.Text = s.lang.Inf(words.Text("Not seen here: %s. %s", "此处看不到：%s。%s"), why, d.Text)
	default:
		d.Error = s.lang.In(words.Text("No probe sees the step: ", "没有探针能看到这一步：")) + why
	}
	d.Hold = wording.HoldCost(s.lang, s.h, id, v.at)
}

// logged returns the lines that a kubelet of the catalogue's version writes to its log at a step.
func logged(st *probes.Step) (out []screen.Value) {
	for _, l := range st.Log {
		if l.Until == "" {
			out = append(out, screen.Value{Name: "-v=" + strconv.Itoa(l.V), Text: strings.TrimSuffix(l.Message, "*")})
		}
	}
	return out
}

func (s *State) noteDetail(n *line, v *view, d *screen.Detail) {
	e, ok := s.h.Event(n.key.a)
	if !ok {
		return
	}
	d.Step = words.Clean(e.Step)
	if id := s.h.StepNamed(e.Step); id != 0 {
		s.aboutStep(id, v, d)
	}
	d.Title, _ = wording.Event(s.lang, &e)
	isLog := e.Fields["note"] == agentpb.NoteLog
	if isLog { // the values stand below
		d.Title = s.lang.Inf(words.Text("logged by breakpoint %v", "断点 %v 的记录"), e.Fields["breakpoint"])
	}
	d.Began, d.Error = e.Time, words.Clean(e.Error)
	d.Took = max(0, time.Duration(e.DurationNs))
	fields := e.Fields
	if isLog {
		fields = maps.Clone(fields)
		delete(fields, "note")
		delete(fields, "breakpoint")
	}
	d.Args = valuesOf(nil, fields)
}

// values fills in arguments and results, in the catalogue's order.
func (s *State) values(c *history.Call, d *screen.Detail) {
	var args, results []probes.Field
	if c.Step.About != nil {
		args, results = c.Step.About.Fields, c.Step.About.Results
	}
	if c.Step.Stage == "cri" {
		d.Request, d.Response = wording.Request(c), wording.Response(c)
	}
	d.Args, d.Results = valuesOf(args, c.Args), valuesOf(results, c.Results)
}

func valuesOf(names []probes.Field, values map[string]any) (out []screen.Value) {
	for _, v := range wording.Values(names, values) {
		out = append(out, screen.Value(v))
	}
	return out
}

// sourceOf shows the kubelet's source. For a call that is the place in the function of the call around it; for a
// step without a call, the beginning of the step's own function.
func (s *State) sourceOf(st *history.Step, ref int, d *screen.Detail) {
	own, ok := source.Of(st.Name)
	here := s.h.Epoch().Step(s.h.StepNamed(st.Name))
	switch {
	case ok:
		excerpt(&own, own.Func, d)
	case here.GetFile() != "":
		d.Place = words.Clean(here.GetFile()) + ":" + strconv.Itoa(int(here.GetLine()))
	case st.About != nil:
		d.Place = st.About.File
	}
	sp := s.h.Span(ref)
	if sp == nil {
		return
	}
	line := int(sp.Line)
	if s.h.EpochAt(sp.Enter).Info.GetKubeletVersion() != probes.KubernetesVersion {
		line = 0 // the line belongs to another source
	}
	for up := s.h.Span(sp.Parent); up != nil; up = s.h.Span(up.Parent) {
		caller, ok := source.Of(s.h.Step(up.Step).Name)
		if !ok {
			line = 0 // the line belongs to a function that is not shown
			continue
		}
		calls := caller.Calls(st.Name)
		if st.About != nil && st.About.Closure != "" && len(calls) == 1 {
			line = 0 // the probe reads the line of the closing brace if the function is called where it is written
		}
		callerOf(&caller, line, calls, d)
		return // a function further up may come to the step another way
	}
}

// callerOf shows the place of a call in the function that made it. That is the line that the probe read or, if it
// read none, the only line from which the source leads to the step. If there are several such lines, it says that
// the call is at one of them.
func callerOf(caller *source.Excerpt, line int, calls []int, d *screen.Detail) {
	switch {
	case line >= caller.Func && line < caller.Line+len(caller.Lines):
		excerpt(caller, line, d)
	case len(calls) == 1:
		excerpt(caller, calls[0], d)
	case len(calls) > 1:
		excerpt(caller, calls[0], d)
		d.Mark, d.Either = none, calls
	}
}

// linesBefore and linesAfter are how many lines of a function are shown around the line that matters.
const linesBefore, linesAfter = 6, 30

// excerpt shows the lines around a line.
func excerpt(e *source.Excerpt, line int, d *screen.Detail) {
	at := line - e.Line
	from, to := max(0, at-linesBefore), min(len(e.Lines), at+linesAfter)
	if from >= to {
		return
	}
	d.Place, d.First, d.Mark = e.File+":"+strconv.Itoa(line), e.Line+from, at-from
	d.Source = wording.Lines(strings.Join(e.Lines[from:to], "\n"))
}
