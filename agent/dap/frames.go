package dap

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
)

// stop is where a pod is stopped.
type stop struct {
	at   int // the position in the history as of which the pod is shown
	span int // the call, or history.None
	// on is enter, exit, or inside; held has what the agent reports of the hold, as of begun.
	on    string
	held  *agentpb.HoldInfo
	begun time.Time
	err   string // of the call, at its exit
}

// left returns how long it takes until the agent lets the pod go by itself.
func (s *stop) left() time.Duration {
	in, _ := s.held.End()
	return max(0, time.Until(s.begun.Add(in)))
}

// frame is one frame of a pod.
type frame struct {
	place int
	stop  *stop
	span  int  // the call; history.None: the frame is no step
	top   bool // the innermost step
	// goroutine: it is a frame of the goroutine's stack, with this number in it.
	goroutine bool
	number    uint32
}

// looker asks a debugger about the goroutine of a held pod.
type looker func(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error)

// stackTrace answers with the steps that are under way for a pod, the innermost first. Its worker is at the bottom.
func (s *session) stackTrace(r *dap.StackTraceRequest) error {
	place := r.Arguments.ThreadId
	if err := s.known(place); err != nil {
		return err
	}
	stop := s.target.stop(place)
	if stop == nil {
		return fmt.Errorf("%s is not held; pause holds it at its next step", s.target.story().name(place))
	}
	frames := s.stepFrames(place, stop)
	look := s.target.look()
	if look == nil || stop.held == nil {
		s.answerStack(r, frames)
		return nil
	}
	only := s.target.story().only(place)
	return s.later(r, func() (dap.Message, error) {
		answer, err := look(s.ctx, &agentpb.LookRequest{Pods: only})
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.target == nil || s.target.stop(place) != stop {
			return nil, fmt.Errorf("the pod went on while its frames were read")
		}
		s.answerStack(r, append(frames, s.goFrames(place, stop, answer, err)...))
		return nil, nil
	})
}

// answerStack sends the frames that the editor asks for.
func (s *session) answerStack(r *dap.StackTraceRequest, all []dap.StackFrame) {
	from := min(max(0, r.Arguments.StartFrame), len(all))
	to := len(all)
	if n := r.Arguments.Levels; n > 0 {
		to = min(to, from+n)
	}
	s.out.put(&dap.StackTraceResponse{Response: done(r), Body: dap.StackTraceResponseBody{StackFrames: all[from:to], TotalFrames: len(all)}})
}

// maxFrames bounds the frames of a goroutine: calls of the kubelet nest far less.
const maxFrames = 100

// stepFrames returns a frame for each step that is under way: those around the call at which the pod is stopped and, if
// that is on another goroutine than the pod's worker, those in which the worker is meanwhile.
func (s *session) stepFrames(place int, at *stop) []dap.StackFrame {
	st := s.target.story()
	out := s.chain(place, at, at.span, true)
	if w := st.world(at.at); place < len(w.Pods) {
		if worker := w.Pod(place).At; st.h.Span(worker) != nil && st.outermost(worker) != st.outermost(at.span) {
			out = append(append(out, s.label(place, at, "meanwhile, the pod's worker")), s.chain(place, at, worker, false)...)
		}
	}
	return append(out, s.label(place, at, "pod "+st.name(place)))
}

// label returns a frame that is only a line of text.
func (s *session) label(place int, at *stop, text string) dap.StackFrame {
	f := &frame{place: place, stop: at, span: history.None}
	return dap.StackFrame{Id: s.refs.add(frameRef(f)), Name: text, PresentationHint: "label"}
}

// outermost returns the last of the calls around a call, or the call itself.
func (st *story) outermost(ref int) int {
	for range maxFrames {
		sp := st.h.Span(ref)
		if sp == nil || st.h.Span(sp.Parent) == nil {
			break
		}
		ref = sp.Parent
	}
	return ref
}

// chain returns a frame for a call and for each call around it. stopped: the pod is stopped at the first.
func (s *session) chain(place int, at *stop, ref int, stopped bool) (out []dap.StackFrame) {
	st := s.target.story()
	var child *history.Span
	for len(out) < maxFrames {
		sp := st.h.Span(ref)
		if sp == nil {
			break
		}
		f := &frame{place: place, stop: at, span: ref, top: stopped && child == nil}
		step := st.h.Step(sp.Step)
		shown := dap.StackFrame{Id: s.refs.add(frameRef(f)), Name: words.Clean(step.Name)}
		if f.top && at.on == "exit" {
			shown.Name += " (exit)"
		}
		if shown.Source, shown.Line = st.sourceAt(step, child, at, f.top); shown.Line > 0 {
			shown.Column = 1
		}
		if shown.Source == nil {
			shown.PresentationHint = "subtle"
		}
		out = append(out, shown)
		child, ref = sp, sp.Parent
	}
	return out
}

func frameRef(f *frame) ref { return ref{place: f.place, frame: f} }

// sourceAt returns the line of a step's function at which a pod is: where it calls the step that the frame above is of,
// or its beginning or end. The source is nil if podstep has none for the step.
func (st *story) sourceAt(step *history.Step, child *history.Span, at *stop, top bool) (*dap.Source, int) {
	if in := at.held.GetPlace(); top && in != nil {
		return sourceIn(in)
	}
	e, ok := source.Of(step.Name)
	if !ok {
		return nil, 0
	}
	line := e.Func
	switch {
	case top && at.on == "exit" && !e.Cut:
		line = e.Line + len(e.Lines) - 1
	case child != nil:
		line = st.callLine(&e, child)
	}
	return sourceOf(&e), line
}

// sourceIn returns the source of a place in the kubelet's code. Where podstep has none, an editor may find the file by
// its path, in a checkout.
func sourceIn(f *agentpb.StackFrame) (*dap.Source, int) {
	line := int(f.GetLine())
	if e, ok := source.At(f.GetFunction(), f.GetFile(), line); ok {
		return sourceOf(&e), line
	}
	return &dap.Source{Name: words.Clean(f.Written()), Path: words.Clean(f.GetFile()), PresentationHint: "deemphasize"}, line
}

// callLine returns the line at which a function makes a call: the one that the probe has read, or else the first from
// which the source leads to the step.
func (st *story) callLine(e *source.Excerpt, child *history.Span) int {
	callee := st.h.Step(child.Step)
	calls := e.Calls(callee.Name)
	line := int(child.Line)
	same := child.Enter != history.None && st.h.EpochAt(child.Enter).Info.GetKubeletVersion() == probes.KubernetesVersion
	if callee.About != nil && callee.About.Closure != "" && len(calls) == 1 {
		same = false // the line of a literal's closing brace
	}
	switch {
	case same && line >= e.Func && line < e.Line+len(e.Lines):
		return line
	case len(calls) > 0:
		return calls[0]
	}
	return e.Func
}

// goFrames returns the frames of the goroutine, below a label.
func (s *session) goFrames(place int, at *stop, answer *agentpb.LookResponse, err error) []dap.StackFrame {
	title := "goroutine of the kubelet"
	if err != nil {
		title = "no goroutine: " + textOf(err)
	}
	out := []dap.StackFrame{s.label(place, at, title)}
	for i, f := range answer.GetFrames() {
		own := &frame{place: place, stop: at, span: history.None, goroutine: true, number: uint32(i)}
		shown := dap.StackFrame{Id: s.refs.add(frameRef(own)), Name: words.Clean(f.GetFunction()), Column: 1, PresentationHint: "normal"}
		if shown.Source, shown.Line = sourceIn(f); shown.Source.SourceReference == 0 {
			shown.PresentationHint = "subtle"
		}
		out = append(out, shown)
	}
	return out
}

// exceptionInfo answers with the error of the call at whose exit a pod is held.
func (s *session) exceptionInfo(r *dap.ExceptionInfoRequest) error {
	if err := s.known(r.Arguments.ThreadId); err != nil {
		return err
	}
	at := s.target.stop(r.Arguments.ThreadId)
	if at == nil || at.err == "" {
		return fmt.Errorf("%s is not held at a call that failed", s.target.story().name(r.Arguments.ThreadId))
	}
	step := ""
	if sp := s.target.story().h.Span(at.span); sp != nil {
		step = s.target.story().h.Step(sp.Step).Name
	}
	s.out.put(&dap.ExceptionInfoResponse{Response: done(r), Body: dap.ExceptionInfoResponseBody{
		ExceptionId: words.Clean(step), Description: lines(at.err), BreakMode: "always",
	}})
	return nil
}
