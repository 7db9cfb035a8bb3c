package state

import (
	"slices"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainWhy] = whyPane{} }

// whyPane shows why the selected pod is where it is.
type whyPane struct{ storyPane }

func (whyPane) body(s *State, _ int, v *view) screen.Body { return s.causeList(v) }
func (whyPane) move(s *State, rows int, v *view)          { s.moveCause(rows, v) }
func (whyPane) end(s *State)                              { s.moveCause(veryFar, s.view()) }
func (whyPane) open(s *State, v *view)                    { s.openCause(v) }
func (whyPane) back(*State, *view) bool                   { return false }

// cause is an item of the list, with what it leads to.
type cause struct {
	screen.CauseItem
	seq  uint64 // of the event that it goes to
	tour string
	pod  int // that it goes to; 0: none
}

func (s *State) causeList(v *view) *screen.Causes {
	out := &screen.Causes{Cursor: none, Asking: s.gathered.asking != "" && s.gathered.asking == s.podAt(s.pod).Entity.UID}
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

// openCause goes to the event of the selected evidence, or to the selected culprit.
func (s *State) openCause(v *view) {
	items := s.causes(v)
	if s.pod == 0 || s.causeRow >= len(items) {
		return
	}
	if pod := items[s.causeRow].pod; pod != 0 {
		s.selectPod(pod)
		return
	}
	if items[s.causeRow].seq == 0 {
		return
	}
	p := s.podAt(s.pod)
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

// SelectedWalk returns the walk that explains the selected item's part of the pipeline; empty if there is none, or
// the causes are not shown.
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

// causes returns the items of the report on the selected pod.
func (s *State) causes(v *view) (out []cause) {
	r := s.report(v)
	if len(r.Findings) == 0 {
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseText, Text: r.Summary(s.lang)}})
	}
	for i := range r.Findings {
		out = append(out, s.finding(&r.Findings[i], r)...)
	}
	out = append(out, s.differing(r)...)
	out = append(out, s.afterRestart(r.Restart)...)
	out = append(out, s.edits(r)...)
	missed := causes.Missed(r.Unseen, r.Open())
	for _, u := range missed {
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseNote, Label: s.lang.In(wordNotSeen), Text: words.OneLine(u.String())}})
	}
	for _, right := range causes.MissingRights(missed) {
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseNote, Label: s.lang.In(wordRight), Text: words.OneLine(right.Right) + ": " + s.lang.In(right.Adds)}})
	}
	return out
}

// differing returns the items of the rows in which the places that have something of the pod differ.
func (s *State) differing(r *causes.Report) (out []cause) {
	for _, row := range r.Columns.Differing() {
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseTitle, Text: row.Name(s.lang), Aside: row.Apart(s.lang, r.Taken)}})
		for _, p := range columns.Places {
			if text := row.Cells[p].In(s.lang, r.Taken); text != "" {
				out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseField, Label: s.lang.In(p.Short()), Text: text}})
			}
		}
	}
	return out
}

// afterRestart returns the items of what has changed since the kubelet was started.
func (s *State) afterRestart(r *columns.Restart) (out []cause) {
	if r == nil {
		return nil
	}
	out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseTitle, Text: r.Heading(s.lang)}})
	for i := range r.Changes {
		c := &r.Changes[i]
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseField, Label: c.Name(s.lang), Text: r.In(c, s.lang)}})
	}
	return out
}

// edits returns the items of what somebody changed before.
func (s *State) edits(r *causes.Report) (out []cause) {
	for i := range r.Edits {
		e := &r.Edits[i]
		if i == 0 {
			out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseTitle, Text: s.lang.In(causes.EditsHeading)}})
		}
		out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseText, Text: words.OneLine(e.Object) + " " + e.In(s.lang, r.Taken)}})
	}
	return out
}

var (
	wordNotSeen = words.Text("not seen", "没看到")
	wordRight   = words.Text("right", "权限")
)

// finding returns the items of a finding.
func (s *State) finding(f *causes.Finding, r *causes.Report) []cause {
	out := []cause{
		{CauseItem: screen.CauseItem{Kind: screen.CauseTitle, Text: f.Title(s.lang), Aside: f.Confidence.In(s.lang)}},
		{CauseItem: screen.CauseItem{Kind: screen.CauseText, Text: f.Sentence(s.lang)}},
	}
	for _, fact := range r.Facts(f, s.lang) {
		c := cause{CauseItem: screen.CauseItem{Kind: screen.CauseField, Label: fact.Label, Text: fact.Text, Aside: fact.Aside}, seq: fact.Seq, tour: fact.Tour}
		switch {
		case fact.Seq != 0:
			c.Goes = screen.CauseToEvent
		case fact.Tour != "":
			c.Goes = screen.CauseToWalk
		case fact.Culprit != nil:
			if c.pod = s.culpritPod(fact.Culprit); c.pod != 0 {
				c.Goes = screen.CauseToPod
			}
		}
		out = append(out, c)
		if fact.Run != "" {
			out = append(out, cause{CauseItem: screen.CauseItem{Kind: screen.CauseCommand, Text: fact.Run}})
		}
	}
	return out
}

// culpritPod returns the pod that is a culprit, if this node has it, else 0.
func (s *State) culpritPod(c *causes.Culprit) int {
	if c.Kind != causes.CulpritPod {
		return 0
	}
	return s.podNamed(c.Namespace, c.Name)
}
