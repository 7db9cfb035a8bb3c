package state

import (
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// detail is all that is known of the selected row's step.
func (s *State) detail(n *line, v *view) *screen.Detail {
	if n == nil {
		return nil
	}
	d := &screen.Detail{Mark: none, Top: s.detailTop}
	id := s.stepOf(n)
	if n.key.kind == keyNote {
		s.noteDetail(n, d)
		return d
	}
	if id == 0 {
		return nil
	}
	st := s.h.Step(id)
	s.aboutStep(st, d)
	ref := n.span
	if n.kind == screen.RowFolded {
		ref = s.foldedSpan(n)
	}
	c := s.h.Call(ref, v.at)
	s.heldDetail(ref, d, v)
	if c.Span == nil {
		s.sourceOf(st, none, d)
		return d
	}
	if c.Known {
		d.Began = time.Unix(0, s.h.Origin()+c.Start)
	}
	d.Took, d.Error = c.Took(v.now), words.Clean(c.Err)
	if g := s.h.Epoch().Goroutine(uint32(c.Goroutine)); g != "" && s.seesTurns() {
		d.Goroutine = words.Clean(g)
	}
	s.values(&c, d)
	s.sourceOf(st, ref, d)
	return d
}

// heldDetail is about the call at which the pod is held: until when it is.
func (s *State) heldDetail(ref int, d *screen.Detail, v *view) {
	if now := v.pod(s.pod); ref != none && now.Holds > 0 && now.Held == ref {
		d.Held = strings.TrimSpace(s.heldWords(s.pod, now, v) + " " + s.askedBy(now))
	}
}

// foldedSpan is the last call of a fold.
func (s *State) foldedSpan(n *line) int {
	p := s.of(s.pod)
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

// aboutStep fills in what does not depend on a call.
func (s *State) aboutStep(st *history.Step, d *screen.Detail) {
	d.Step, d.Title = st.Name, s.title(st)
	if st.About != nil {
		d.Text = s.lang.In(st.About.Text)
		d.Goroutine = st.About.Goroutine
	}
	if !s.seesTurns() {
		d.Goroutine = "" // nobody sees whose call it is
	}
	switch {
	case st.Here == nil || st.Here.GetSeen():
	case !s.seesTurns(): // most steps are not: no failure
		d.Text = s.lang.Inf(words.Text("Not seen here: %s. %s", "此处看不到：%s。%s"), words.Clean(st.Here.GetWhy()), d.Text)
	default:
		d.Error = s.lang.In(words.Text("This probe does not see the step: ", "此探针看不到这一步：")) + words.Clean(st.Here.GetWhy())
	}
	d.Hold = s.holdCost(st)
}

func (s *State) noteDetail(n *line, d *screen.Detail) {
	e, ok := s.h.Event(n.key.a)
	if !ok {
		return
	}
	d.Step = words.Clean(e.Step)
	if id := s.h.StepNamed(e.Step); id != 0 {
		s.aboutStep(s.h.Step(id), d)
	}
	d.Title, _ = wording.Event(s.lang, &e)
	d.Began, d.Error = e.Time, words.Clean(e.Error)
	d.Took = max(0, time.Duration(e.DurationNs))
	d.Args = valuesOf(nil, e.Fields)
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

// sourceOf shows the kubelet's source: of a call that goes on, the place in its
// caller; else the beginning of the step's own function.
func (s *State) sourceOf(st *history.Step, ref int, d *screen.Detail) {
	own, ok := source.Of(st.Name)
	switch {
	case ok:
		excerpt(&own, own.Func, d)
	case st.Here != nil && st.Here.GetFile() != "":
		d.Place = words.Clean(st.Here.GetFile()) + ":" + strconv.Itoa(int(st.Here.GetLine()))
	case st.About != nil:
		d.Place = st.About.File
	}
	sp := s.h.Span(ref)
	if sp == nil {
		return
	}
	for up := s.h.Span(sp.Parent); up != nil; up = s.h.Span(up.Parent) {
		caller, ok := source.Of(s.h.Step(up.Step).Name)
		if !ok {
			continue
		}
		if calls := caller.Calls(st.Name); len(calls) > 0 {
			excerpt(&caller, calls[0], d)
		}
		return // what is further up may come to the step by another way
	}
}

// linesBefore and linesAfter are how much of a function is shown around the
// line that matters.
const linesBefore, linesAfter = 6, 30

// excerpt shows the lines around one.
func excerpt(e *source.Excerpt, line int, d *screen.Detail) {
	at := line - e.Line
	from, to := max(0, at-linesBefore), min(len(e.Lines), at+linesAfter)
	if from >= to {
		return
	}
	d.Place, d.First, d.Mark = e.File+":"+strconv.Itoa(line), e.Line+from, at-from
	d.Source = wording.Lines(strings.Join(e.Lines[from:to], "\n"))
}

var holdWords = map[string]probes.Text{
	"yes":    words.Text("A pod may be held here: only its own worker comes here.", "可以在这里停住 Pod：只有它自己的 worker 会来到这里。"),
	"worker": words.Text("A pod may be held here when its own worker comes here.", "来到这里的是 Pod 自己的 worker 时，可以停住它。"),
	"own":    words.Text("A hold here stops one goroutine, such as that of one health probe; nothing else waits.", "停在这里的是单独的 goroutine，只有它自己在等。"),
	"node":   words.Text("A hold here stops the whole node: every other pod waits as well. Only in a lab.", "停在这里，整个节点都会停下，其他 Pod 也要等。只有在实验环境里可以。"),
	"no":     words.Text("A pod may not be held here.", "不能在这里停住 Pod。"),
}

// holdCost says whether one may hold at a step, and what it costs.
func (s *State) holdCost(st *history.Step) string {
	if st.About == nil {
		return ""
	}
	if !s.seesTurns() && st.Stage == "cri" {
		return s.holdCostOfCall(st)
	}
	enter, exit := string(st.About.Hold.Enter), string(st.About.Hold.Exit)
	if st.Here != nil && st.Here.GetHoldEnter() != "" {
		enter, exit = st.Here.GetHoldEnter(), st.Here.GetHoldExit()
	}
	rule := enter
	if rule == "no" && exit != "no" {
		rule = exit
	}
	out := []string{s.lang.In(holdWords[rule])}
	switch {
	case enter == "no" && exit != "no":
		out = append(out, s.lang.In(words.Text("Only when it returns.", "只能在它返回时。")))
	case enter != "no" && exit == "no":
		out = append(out, s.lang.In(words.Text("Only before it begins.", "只能在它开始之前。")))
	}
	if why := s.lang.In(st.About.Hold.Why); why != "" && rule != "yes" {
		out = append(out, why)
	}
	if rule == "no" {
		return strings.Join(out, " ")
	}
	for _, name := range st.About.Timers {
		if t := s.h.Catalogue().Timer(name); t != nil {
			out = append(out, s.lang.Inf(words.Text("Timer %s (%s): %s", "计时器 %s（%s）：%s"), t.Name, t.After, s.lang.In(t.Text)))
		}
	}
	if len(st.About.Timers) == 0 {
		out = append(out, s.lang.In(words.Text("No timer of its own runs meanwhile.", "其间没有它自己的计时器在走。")))
	}
	return strings.Join(out, " ")
}
