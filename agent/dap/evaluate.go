package dap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

// repl is the context of what a person types into the console.
const repl = "repl"

// whyIn is how long the sources of why may take.
const whyIn = 30 * time.Second

// evaluate answers for an expression: why, print EXPRESSION, a field of the frame's step, or break and clear.
func (s *session) evaluate(r *dap.EvaluateRequest) error {
	expression := strings.TrimSpace(r.Arguments.Expression)
	verb, rest, _ := strings.Cut(expression, " ")
	switch verb {
	case "break":
		return s.evaluateBreak(r, strings.TrimSpace(rest))
	case "clear":
		return s.evaluateClear(r, strings.TrimSpace(rest))
	}
	place, f, err := s.meant(r.Arguments.FrameId)
	if err != nil {
		return err
	}
	switch {
	case verb == "why" && rest == "":
		return s.evaluateWhy(r, place, f)
	case verb == "print":
		return s.evaluateValue(r, place, f, strings.TrimSpace(rest))
	}
	if f != nil && f.span != history.None {
		if n, ok := s.fieldNamed(f, strings.TrimPrefix(expression, "field.")); ok {
			s.result(r, place, n)
			return nil
		}
	}
	return fmt.Errorf("podstep has no %q here; write why, print EXPRESSION, break STEP [CONDITION], clear [STEP], or a field of the step%s", words.Cut(expression, 60), s.fieldNames(f))
}

// meant returns the pod and the frame that an expression is about. Without a frame there must be only one pod, or one
// that is stopped.
func (s *session) meant(id int) (place int, f *frame, err error) {
	if id != 0 {
		if f, err = s.refs.frame(id); err != nil {
			return 0, nil, err
		}
		return f.place, f, nil
	}
	all := s.target.threads()
	var stopped []int
	for _, t := range all {
		if s.target.stop(t.Id) != nil {
			stopped = append(stopped, t.Id)
		}
	}
	switch {
	case len(stopped) == 1:
		at := s.target.stop(stopped[0])
		return stopped[0], &frame{place: stopped[0], stop: at, span: at.span, top: true}, nil
	case len(all) == 1:
		return all[0].Id, nil, nil
	}
	return 0, nil, fmt.Errorf("which pod? there are %d, and %d of them are stopped; choose a frame of one", len(all), len(stopped))
}

func (s *session) result(r *dap.EvaluateRequest, place int, n node) {
	s.out.put(&dap.EvaluateResponse{Response: done(r), Body: dap.EvaluateResponseBody{Result: n.value, Type: n.kind, VariablesReference: s.refOf(place, n), NamedVariables: n.count}})
}

// fieldNamed returns a field of the frame's call.
func (s *session) fieldNamed(f *frame, name string) (node, bool) {
	c := s.target.story().h.Call(f.span, f.stop.at)
	if c.Span == nil {
		return node{}, false
	}
	for _, fields := range []map[string]any{c.Results, c.Args} {
		if v, ok := fields[name]; ok {
			return nodeOf(name, v), true
		}
	}
	if name == "error" && c.Err != "" {
		return treeOf(name, c.Err), true
	}
	return node{}, false
}

// fieldNames lists the fields of a frame for a sentence.
func (s *session) fieldNames(f *frame) string {
	if f == nil || f.span == history.None {
		return ""
	}
	c := s.target.story().h.Call(f.span, f.stop.at)
	var names []string
	for _, fields := range []map[string]any{c.Args, c.Results} {
		for _, n := range nodesOf(fields, func(any) bool { return true }) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// evaluateWhy answers why a pod is where it is: by its story, and at the console by all that podstep why asks.
func (s *session) evaluateWhy(r *dap.EvaluateRequest, place int, f *frame) error {
	st := s.target.story()
	at := st.h.End()
	if f != nil {
		at = f.stop.at
	}
	text := lines(st.why(place, at))
	t, living := s.target.(*live)
	if !living || s.opts.Why == nil || r.Arguments.Context != repl {
		s.result(r, place, node{value: text})
		return nil
	}
	of := st.h.Pod(place).Entity
	return s.later(r, func() (dap.Message, error) {
		ctx, cancel := context.WithTimeout(s.ctx, whyIn)
		defer cancel()
		more, err := s.opts.Why(ctx, t.c.Place, of.Namespace, of.Name)
		if err != nil {
			more = "more is not known: " + textOf(err)
		}
		return &dap.EvaluateResponse{Response: done(r), Body: dap.EvaluateResponseBody{Result: text + "\n\n" + lines(strings.TrimSpace(more))}}, nil
	})
}

// evaluateValue asks the agent's debugger for a value in the function in which the pod is held.
func (s *session) evaluateValue(r *dap.EvaluateRequest, place int, f *frame, expression string) error {
	t, living := s.target.(*live)
	switch {
	case expression == "":
		return fmt.Errorf("print what? write an expression of Go, like print pod.Name")
	case !living:
		return fmt.Errorf("a recording has no variables of the kubelet; the fields of the step are what was recorded")
	case r.Arguments.Context != repl && r.Arguments.Context != "":
		return fmt.Errorf("print is for the console: the whole kubelet stands still while a value is read, so podstep reads none for a hover or a watch")
	case s.target.stop(place) == nil:
		return fmt.Errorf("%s is not held; print needs a pod that is", t.st.name(place))
	}
	req := &agentpb.LookRequest{Pods: t.st.only(place), Expression: expression}
	if f != nil {
		req.Frame = f.number
	}
	return s.later(r, func() (dap.Message, error) {
		answer, err := t.lookAt(s.ctx, req)
		if err != nil {
			return nil, err
		}
		v := answer.GetValue()
		return &dap.EvaluateResponse{Response: done(r), Body: dap.EvaluateResponseBody{Result: words.Clean(v.GetValue()), Type: words.Clean(v.GetType())}}, nil
	})
}
