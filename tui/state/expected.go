package state

import (
	"github.com/podstep/podstep/agent/story/expected"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// expected lays out the steps that usually come next in a call that goes on. seen are the steps that it has made so
// far.
func (l *layouter) expected(sp *history.Span, seen []history.StepID, depth int) {
	l.expectedSteps(*l.p.Spans.At(sp.Ordinal), l.s.usual.InCall(l.p.Pod, sp, seen, l.at), depth)
}

// expectedAfter lays out the steps that come next in a turn in which no call goes on.
func (l *layouter) expectedAfter(tn *outline.Turn, t *tree, depth int) {
	var seen []history.StepID
	for _, r := range t.roots {
		seen = append(seen, l.s.h.Span(t.nodes[r].span).Step)
	}
	l.expectedSteps(l.p.Items.At(tn.Item).Span, l.s.usual.AfterCalls(tn, seen), depth)
}

func (l *layouter) expectedSteps(span int, steps []expected.Step, depth int) {
	for _, e := range steps {
		if depth+e.Depth <= maxDepth {
			k := lineKey{kind: keyExpected, a: span, b: int(e.Step)*4 + e.Nth}
			l.addLine(line{key: k, kind: screen.RowExpected, depth: depth + e.Depth, span: none, item: none, step: e.Step})
		}
	}
}

// expectedCalls lays out the calls that come next in a chapter in which no turns are seen.
func (l *layouter) expectedCalls() {
	for i, c := range expected.Calls(l.s.h, l.p.Pod, l.now, l.chapter, l.at) {
		k := lineKey{kind: keyCall, a: i, b: int(c.Step)}
		l.addLine(line{key: k, kind: screen.RowExpected, depth: 1, span: none, item: none, step: c.Step, of: c.Container})
	}
}

// expectedRow puts an expected step into words.
func (s *State) expectedRow(n *line, v *view, r *screen.Row) {
	st := s.h.Step(n.step)
	r.Step, r.Label, r.Note, r.Mark = st.Name, s.title(st), words.Clean(n.of), screen.RowToCome
	r.CRI = st.Stage == "cri"
	if why, is := v.unseen(n.step); is {
		r.Mark, r.Error = screen.RowUnseen, why
	}
}
