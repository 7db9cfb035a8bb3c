package dap

import (
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

// scopes answers with the lists of variables of a frame.
func (s *session) scopes(r *dap.ScopesRequest) error {
	f, err := s.refs.frame(r.Arguments.FrameId)
	if err != nil {
		return err
	}
	out := []dap.Scope{}
	add := func(name, hint string, nodes func() []node) {
		out = append(out, dap.Scope{Name: name, PresentationHint: hint, VariablesReference: s.refs.add(ref{place: f.place, nodes: nodes})})
	}
	st := s.target.story()
	if call := st.h.Call(f.span, f.stop.at); f.span != history.None && call.Span != nil {
		if call.Known {
			add("Arguments", "arguments", func() []node { return append(s.whatItIs(f, &call), nodesOf(call.Args, isPlain)...) })
		}
		if docs := nodesOf(call.Args, isDocument); len(docs) > 0 {
			add("Request", "", func() []node { return docs })
		}
		if call.Ended || f.top && f.stop.on == "exit" {
			add("Results", "returnValue", func() []node { return results(&call) })
		}
	}
	if s.target.look() != nil && f.goroutine {
		return s.goScopes(r, f, out)
	}
	nodes := func() []node { return st.podNodes(f.place, f.stop.at) }
	out = append(out, dap.Scope{Name: "Pod", VariablesReference: s.refs.add(ref{place: f.place, nodes: nodes, pod: true})})
	if f.stop.held != nil {
		add("Budget", "", func() []node { return budgetNodes(f.stop) })
	}
	add("Why", "", func() []node { return whyNodes(st.why(f.place, f.stop.at)) })
	s.out.put(&dap.ScopesResponse{Response: done(r), Body: dap.ScopesResponseBody{Scopes: out}})
	return nil
}

// whatItIs has the title of the step and how long the call has taken.
func (s *session) whatItIs(f *frame, c *history.Call) []node {
	st := s.target.story()
	step := c.Step
	out := []node{plain("step", step.Name+": "+step.Title().En)}
	if f.top && f.stop.on != "" {
		out = append(out, plain("at", f.stop.on))
	}
	return append(out, plain("took", words.Took(st.took(f.span, f.stop.at))))
}

// results are what a call returned.
func results(c *history.Call) []node {
	out := nodesOf(c.Results, func(any) bool { return true })
	if c.Err != "" {
		out = append([]node{plain("error", c.Err)}, out...)
	}
	return out
}

// podNodes are what the kubelet knows of a pod.
func (st *story) podNodes(place, at int) []node {
	entity := st.h.Pod(place).Entity
	out := []node{plain("name", entity.NamespacedName()), plain("uid", entity.UID)}
	w := st.world(at)
	if place >= len(w.Pods) {
		return out
	}
	p := w.Pod(place)
	state, since := st.lives.StateAt(w, place, w.Time)
	out = append(out, plain("state", state.Text().En), plain("for", words.Took(history.Since(since, w.Time))), plain("phase", p.Phase.String()),
		treeOf("ready", p.Ready), treeOf("deleting", p.Deleting), treeOf("sync", p.Sync), treeOf("tries", p.Tries))
	if err := st.lives.ErrorOf(p); err != "" {
		out = append(out, plain("error", err))
	}
	for _, c := range p.Containers {
		members := []node{treeOf("failed", c.Failed), treeOf("up", c.Up != 0)}
		if c.Restarts >= 0 {
			members = append(members, treeOf("restarts", c.Restarts))
		}
		out = append(out, node{name: "container " + words.Clean(c.Name), kind: "object", value: containerText(c.Up != 0, c.Failed),
			count: len(members), children: func() []node { return members }})
	}
	return out
}

func containerText(up bool, failed uint32) string {
	switch {
	case up:
		return "started"
	case failed > 0:
		return "fails"
	}
	return "not started"
}

// budgetNodes are how long a hold lasts, and what ends it.
func budgetNodes(at *stop) []node {
	h := at.held
	out := []node{plain("goes on by itself in", words.Clock(at.left())), plain("because of", endText(h))}
	age := time.Since(at.begun)
	out = append(out, plain("lease", words.Clock(max(0, h.GetLease().AsDuration()-age))))
	if b := h.GetBudget(); b != nil {
		out = append(out, plain("timer "+b.GetTimer(), words.Clock(max(0, b.GetLeft().AsDuration()-age))+" until: "+reason.Timer(b.GetTimer()).En))
	} else {
		out = append(out, plain("timer", "none runs: the hold costs the pod nothing but time"))
	}
	if p := h.GetPeer(); p != nil {
		out = append(out, plain("held by", reason.Peer(p).En), treeOf("held by uid", p.GetUid()), treeOf("held by pid", p.GetPid()))
	}
	return out
}

// endText names what ends a hold by itself.
func endText(h *agentpb.HoldInfo) string {
	if _, timer := h.End(); timer != "" {
		return "the timer " + timer + ": " + reason.Timer(timer).En
	}
	return "its lease"
}

func whyNodes(text string) (out []node) {
	for i, l := range strings.Split(text, "\n") {
		name := "why"
		if i > 0 {
			name = "evidence"
		}
		out = append(out, plain(name, strings.TrimSpace(l)))
	}
	return out
}

// goScopes adds the arguments and local variables of a frame of the goroutine. The kubelet stands still while they are
// read.
func (s *session) goScopes(r *dap.ScopesRequest, f *frame, out []dap.Scope) error {
	look, only := s.target.look(), s.target.story().only(f.place)
	return s.later(r, func() (dap.Message, error) {
		answer, err := look(s.ctx, &agentpb.LookRequest{Pods: only, Frame: f.number})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, of := range []struct {
			name, hint string
			all        []*agentpb.Variable
		}{{"Arguments", "arguments", answer.GetArguments()}, {"Locals", "locals", answer.GetLocals()}} {
			nodes := []node{}
			for _, v := range of.all {
				nodes = append(nodes, node{name: words.Clean(v.GetName()), value: words.Clean(v.GetValue()), kind: words.Clean(v.GetType())})
			}
			if w := answer.GetWithout(); w != "" {
				nodes = append(nodes, plain("", w))
			}
			out = append(out, dap.Scope{Name: of.name, PresentationHint: of.hint, VariablesReference: s.refs.add(ref{place: f.place, nodes: func() []node { return nodes }})})
		}
		return &dap.ScopesResponse{Response: done(r), Body: dap.ScopesResponseBody{Scopes: out}}, nil
	})
}
