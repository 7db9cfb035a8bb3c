package explain

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Evidence is an event that shows a finding.
type Evidence struct {
	Pos int    // in the history
	Seq uint64 // the agent's number of the event
	// Step is the name of the event's step.
	Step string
	// Source says who saw or reported the event: SeenInside, SeenCall, ByAPIServer, ByPods or ByRuntime.
	Source Code
}

// Text says where the evidence is.
func (e *Evidence) Text(l words.Lang) string {
	return Phrase{e.Source, Args{"step": e.Step, "seq": e.Seq}}.Text(l)
}

// evidence makes an evidence of the event at pos. It is empty if the event is not kept.
func (c *check) evidence(pos int) []Evidence {
	if pos == history.None {
		return nil
	}
	e, ok := c.h.Event(pos)
	if !ok {
		return nil
	}
	return []Evidence{{Pos: pos, Seq: e.Seq, Step: words.Clean(e.Step), Source: c.source(&e)}}
}

func (c *check) source(e *probes.Event) Code {
	st := c.h.Catalogue().Step(e.Step)
	switch {
	case c.knows.Turns:
		return SeenInside
	case st == nil || !st.Report():
		return SeenCall
	case st.Seen == probes.ByKubelet, words.Short(e.Fields["from"]) == string(probes.ByKubelet):
		return ByPods
	case st.Seen == probes.ByRuntime:
		return ByRuntime
	}
	return ByAPIServer
}
