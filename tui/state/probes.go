package state

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// epoch returns the epoch of the position that is shown.
func (v *view) epoch() *history.Epoch { return v.s.h.EpochBefore(v.at) }

// knows returns what the probes could know of stories at the position.
func (v *view) knows() probes.Knows { return v.epoch().Knows(v.at) }

// unseen reports whether no probe saw a step at the position, and why.
func (v *view) unseen(id history.StepID) (why string, is bool) {
	text, is := v.epoch().Unseen(id, v.at)
	return words.Clean(v.s.lang.In(text)), is
}

// Knows returns what the present agent's probes know of stories.
func (s *State) Knows() probes.Knows { return s.h.Knows(s.h.End()) }

// Unseen reports whether no probe sees a step now, and why.
func (s *State) Unseen(step string) (why string, is bool) {
	text, is := s.h.Epoch().Unseen(s.h.StepNamed(step), s.h.End())
	return words.Clean(s.lang.In(text)), is
}

// knewTurns reports whether the probes saw turns when the event at a position came.
func (s *State) knewTurns(pos int) bool { return s.h.EpochAt(pos).Knows(pos).Turns }

// byTurns reports whether a segment is laid out by the turns of the pod's worker. It is if the probes saw turns when
// it began.
func (s *State) byTurns(p *pod, g *outline.Segment) bool {
	if it := p.Items.At(max(g.First, p.Items.First)); it != nil {
		return s.knewTurns(it.Pos)
	}
	return s.Knows().Turns
}

func cleaned(names []string) (out []string) {
	for _, n := range names {
		out = append(out, words.Clean(n))
	}
	return out
}

// failing returns the probes that see nothing.
func (s *State) failing(all []*agentpb.Probe) (out []screen.Failing) {
	for _, p := range all {
		again := wire.Retries(p)
		if again || !wire.Works(p) {
			out = append(out, screen.Failing{
				Probe: words.Clean(p.GetName()), Again: again,
				Why: words.Clean(words.OneLine(s.lang.In(wire.Why(p.GetReason()).Text()))),
			})
		}
	}
	return out
}

// blind names the part of the kubelet that no probe sees, empty if there is none. Reports that no probe sees do not
// count, unless nothing else is unseen.
func (s *State) blind(v *view) string {
	e, seen, unseen, example := v.epoch(), 0, 0, ""
	for _, st := range e.Info.GetSteps() {
		about := s.h.Catalogue().Step(st.GetName())
		if about != nil && about.Outside() {
			continue
		}
		switch {
		case !e.Sees(s.h.StepNamed(st.GetName()), v.at):
			if unseen++; example == "" {
				example = st.GetName()
			}
		case st.GetStage() != stageCRI:
			seen++
		}
	}
	switch {
	case unseen == 0:
		return ""
	case seen > 0:
		return words.Clean(s.lang.Inf(words.Text("%d steps not seen, such as %s", "有 %d 个步骤看不到，例如 %s"), unseen, example))
	}
	what := s.lang.In(words.Text("not seen: inside the kubelet", "看不到：kubelet 内部"))
	if !v.knows().Reports {
		what += s.lang.In(words.Text(", the API server", "、API server"))
	}
	return what
}

// stageCRI is the stage of the calls to the runtime, which can be seen from outside of the kubelet, too.
const stageCRI = "cri"

// NoHold reports whether no pod can be held at a step now, and why.
func (s *State) NoHold(step string) (why string, is bool) { return wording.NoHold(s.lang, s.h, step) }
