package state

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainWhy] = whyPane{} }

// whyPane is why the selected pod is where it is.
type whyPane struct{ storyPane }

func (whyPane) body(s *State, _ int, v *view) screen.Body { return s.causeList(v) }
func (whyPane) move(s *State, rows int, v *view)          { s.moveCause(rows, v) }
func (whyPane) end(s *State)                              { s.moveCause(veryFar, s.view()) }
func (whyPane) open(s *State, v *view)                    { s.openCause(v) }
func (whyPane) back(*State, *view) bool                   { return false }

// cause is an item of the list, with what it is about.
type cause struct {
	screen.CauseItem
	seq  uint64 // of the event that it goes to
	tour string
}

func (s *State) causeList(v *view) *screen.Causes {
	out := &screen.Causes{Cursor: none, Asking: s.gathered.asking != "" && s.gathered.asking == s.of(s.pod).Entity.UID}
	if s.pod == 0 {
		out.Empty = s.lang.In(words.Text("Select a pod: this is the node.", "请选择一个 Pod：这是节点。"))
		return out
	}
	items := s.causes(v)
	for i := range items {
		out.Items = append(out.Items, items[i].CauseItem)
	}
	s.causeRow = max(0, min(s.causeRow, len(items)-1))
	out.Cursor = s.causeRow
	return out
}

func (s *State) moveCause(rows int, v *view) {
	if s.pod != 0 {
		s.causeRow = max(0, min(s.causeRow+rows, len(s.causes(v))-1))
	}
}

// openCause goes to the event that the selected evidence is.
func (s *State) openCause(v *view) {
	items := s.causes(v)
	if s.pod == 0 || s.causeRow >= len(items) || items[s.causeRow].seq == 0 {
		return
	}
	p := s.of(s.pod)
	for _, pos := range slices.Backward(p.Events.All) {
		head, ok := s.h.Header(pos)
		if !ok || head.Seq != items[s.causeRow].seq {
			continue
		}
		if ref := s.h.SpanOf(pos, &head); ref != none && s.reveal(p, ref, v) {
			s.SetMain(screen.MainStory)
		}
		return
	}
}

// SelectedWalk is the walk that explains the selected item's part of the pipeline;
// empty: none, or the causes are not shown.
func (s *State) SelectedWalk() string {
	if s.main != screen.MainWhy || s.pod == 0 {
		return ""
	}
	items := s.causes(s.view())
	if s.causeRow >= len(items) {
		return ""
	}
	return items[s.causeRow].tour
}

// causes are the items of the report on the selected pod.
func (s *State) causes(v *view) (out []cause) {
	r := s.report(v)
	note := func(text string) {
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseNote, Text: text}})
	}
	switch {
	case r.Waits != nil:
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseText, Text: s.lang.In(r.Waits.For)}})
		note(s.lang.In(r.Waits.Usual))
	case len(r.Findings) == 0:
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseText, Text: s.lang.In(verdictTexts[r.Verdict])}})
	}
	for i := range r.Findings {
		out = append(out, s.finding(&r.Findings[i], r)...)
	}
	for _, u := range r.Unseen {
		text := string(u.Source) + " " + u.What + ": " + strings.TrimSuffix(u.Why+": "+u.Message, ": ")
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseNote, Label: s.lang.In(wordNotSeen), Text: words.OneLine(text)}})
	}
	return out
}

var verdictTexts = map[causes.Verdict]probes.Text{
	causes.OK:      words.Text("Nothing is wrong with the pod.", "这个 Pod 一切正常。"),
	causes.Done:    words.Text("The pod has ended.", "这个 Pod 已经结束。"),
	causes.Unknown: words.Text("Too little is known of the pod to tell.", "对这个 Pod 所知太少，无法判断。"),
}

// The labels of what a finding has.
var (
	wordCertain = map[causes.Confidence]probes.Text{
		causes.Certain: words.Text("certain", "确定"), causes.Likely: words.Text("likely", "很可能"), causes.Possible: words.Text("possible", "可能"),
	}
	wordSeenBy      = words.Text("seen", "证据")
	wordWaitsFor    = words.Text("waits for", "等待")
	wordClock       = words.Text("clock", "计时")
	wordKubectl     = words.Text("kubectl", "kubectl")
	wordUnless      = words.Text("unless", "除非")
	wordDo          = words.Text("do", "处理")
	wordWalk        = words.Text("walk", "导览")
	wordConsequence = words.Text("a consequence of", "后果，原因是")
	wordNotSeen     = words.Text("not seen", "没看到")
)

// finding is a finding as items.
func (s *State) finding(f *causes.Finding, r *causes.Report) (out []cause) {
	add := func(k screen.CauseKind, label probes.Text, text string) *cause {
		if text == "" {
			return &cause{}
		}
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: k, Label: s.lang.In(label), Text: text}})
		return &out[len(out)-1]
	}
	add(screen.CauseTitle, probes.Text{}, f.Title(s.lang)).Aside = s.lang.In(wordCertain[f.Confidence])
	if f.Of != "" {
		if of := causes.Named(f.Of); of != nil {
			add(screen.CauseField, wordConsequence, s.titleOf(r, f.Of, of))
		}
	}
	add(screen.CauseText, probes.Text{}, f.Sentence(s.lang))
	for i := range f.Evidence {
		s.evidenceItem(&f.Evidence[i], r, add)
	}
	add(screen.CauseField, wordWaitsFor, f.Chain(s.lang))
	add(screen.CauseField, wordClock, f.Clock(s.lang))
	add(screen.CauseField, wordKubectl, f.Shows(s.lang))
	add(screen.CauseField, wordUnless, f.Refute(s.lang))
	for _, d := range f.Advice(s.lang) {
		add(screen.CauseField, wordDo, d.Text)
		add(screen.CauseCommand, probes.Text{}, d.Run)
	}
	if f.Cause.Tour != "" {
		c := add(screen.CauseField, wordWalk, f.Cause.Tour)
		c.Goes, c.tour = screen.CauseToWalk, f.Cause.Tour
	}
	return out
}

// titleOf is the title of a finding of the report, by its id.
func (s *State) titleOf(r *causes.Report, id string, otherwise *causes.Cause) string {
	for i := range r.Findings {
		if r.Findings[i].Cause.ID == id {
			return r.Findings[i].Title(s.lang)
		}
	}
	return s.lang.In(otherwise.Title)
}

// maxEvidence bounds an evidence's text, in characters.
const maxEvidence = 400

func (s *State) evidenceItem(e *causes.Evidence, r *causes.Report, add func(screen.CauseKind, probes.Text, string) *cause) {
	c := add(screen.CauseField, wordSeenBy, words.OneLine(e.Where)+": "+words.Cut(words.OneLine(e.Text), maxEvidence))
	c.Aside = string(e.Source)
	if !e.At.IsZero() && e.Source != evidence.Agent {
		c.Aside += " " + words.Took(r.Taken.Sub(e.At))
	}
	if e.Seq != 0 {
		c.seq, c.Goes = e.Seq, screen.CauseToEvent
	}
}
