package state

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// insideOf lists, by chapter, the stages through which a pod passes inside the kubelet, where a probe outside of it
// sees nothing.
var insideOf = [...][]string{
	outline.Creation:    {"source", "merge", "syncloop", "admit", "podmanager", "worker", "cache", "syncpod", "runtime", "image", "volume", "pleg", "status", "probe"},
	outline.Running:     nil,
	outline.Termination: {"terminate", "evict"},
}

// chapters is the number of chapters.
const chapters = len(insideOf)

// unseen lays out the part of a chapter that the probes do not see: one row. It opens to the stages, and these open
// to their steps.
func (l *layouter) unseen(g *outline.Segment) {
	at := g.First*chapters + int(l.chapter)
	k := lineKey{kind: keyUnseen, a: at}
	if l.s.unseenIn(l.chapter, l.at) == 0 {
		return
	}
	open := l.isOpen(k, false)
	l.addLine(line{key: k, kind: screen.RowStage, depth: 1, span: none, item: none, opens: true, open: open})
	if !open {
		return
	}
	for i, stage := range insideOf[l.chapter] {
		steps := l.s.unseenOf(stage, l.at)
		if len(steps) == 0 {
			continue
		}
		k := lineKey{kind: keyStage, a: at, b: i}
		open := l.isOpen(k, false)
		l.addLine(line{key: k, kind: screen.RowStage, depth: 2, span: none, item: none, times: len(steps), opens: true, open: open})
		for _, id := range steps {
			if open {
				l.addLine(line{key: lineKey{kind: keyHidden, a: at, b: int(id)}, kind: screen.RowExpected, depth: 3, span: none, item: none, step: id})
			}
		}
	}
}

// unseenOf returns the steps of a stage that the agent did not see at a position.
func (s *State) unseenOf(stage string, at int) (out []history.StepID) {
	e := s.h.EpochBefore(at)
	for id := range s.h.Steps() {
		id := history.StepID(id)
		if s.h.Step(id).Stage == stage && e.Step(id) != nil && !e.Sees(id, at) {
			out = append(out, id)
		}
	}
	return out
}

func (s *State) unseenIn(c outline.Chapter, at int) (n int) {
	for _, stage := range insideOf[c] {
		n += len(s.unseenOf(stage, at))
	}
	return n
}

// stageOf returns the stage that a line is about; nil if there is none.
func (s *State) stageOf(n *line) *probes.Stage {
	if n.key.kind != keyStage {
		return nil
	}
	name := insideOf[outline.Chapter(n.key.a%chapters)][n.key.b]
	all := s.h.Catalogue().Stages
	if i := slices.IndexFunc(all, func(st probes.Stage) bool { return st.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// unseenRow puts into words a row about steps that are not seen.
func (s *State) unseenRow(n *line, v *view, r *screen.Row) {
	r.Mark = screen.RowUnseen
	c := outline.Chapter(n.key.a % chapters)
	stages := insideOf[c]
	switch n.key.kind {
	case keyUnseen:
		r.Label = s.lang.In(words.Text("inside the kubelet", "kubelet 内部"))
		from := strings.Join(stages, ", ")
		if len(stages) > 3 {
			from = s.lang.Inf(words.Text("%s to %s", "%s 至 %s"), stages[0], stages[len(stages)-1])
		}
		r.Error = s.lang.Inf(words.Text("%s (%d steps)", "%s（%d 个步骤）"), from, s.unseenIn(c, v.at))
	case keyStage:
		r.Label = stages[n.key.b]
		if st := s.stageOf(n); st != nil {
			r.Label = s.lang.In(st.Title)
		}
		r.Note = s.lang.Inf(words.Text("%d steps", "%d 个步骤"), n.times)
	case keyHidden:
		st := s.h.Step(n.step)
		r.Step, r.Label = st.Name, s.title(st)
		why, _ := v.unseen(n.step)
		r.Error = why
	}
}
