//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/podstep/podstep/probes/inside/park"
)

// load bounds how much is read of a variable.
var load = api.LoadConfig{FollowPointers: true, MaxVariableRecurse: 2, MaxStringLen: 200, MaxArrayValues: 20, MaxStructFields: -1}

// look answers a question about a goroutine.
func (p *process) look(q *Question) *Answer {
	began := time.Now()
	a := &Answer{Number: q.Number}
	if err := p.lookInto(q, a); err != nil {
		a.Err = err.Error()
	}
	a.Stood = time.Since(began)
	return a
}

func (p *process) lookInto(q *Question, a *Answer) (err error) {
	if q.Line != "" {
		return p.setStep(q)
	}
	h := p.holdOf(q.Goroutine)
	if h == nil && q.G == 0 {
		return errors.New("the pod is not held any more")
	}
	if !p.begun.Variables {
		a.Without = "this kubelet has no debug information: Delve knows none of its variables"
		if a.Frames, err = p.walk(h, q.G); err == nil && q.Expression != "" {
			err = errors.New(a.Without)
		}
		return err
	}
	if h != nil {
		back, err := p.standBack(h)
		if err != nil {
			return err
		}
		defer back()
	}
	frames, err := p.target.stack(int64(q.Goroutine))
	if err != nil {
		return fmt.Errorf("walk the stack: %w", err)
	}
	skip := parked(frames)
	for _, f := range frames[skip:] {
		name := ""
		if f.Function != nil {
			name = f.Function.Name()
		}
		a.Frames = append(a.Frames, Frame{name, f.File, f.Line})
	}
	if q.Frame < 0 || q.Frame >= len(a.Frames) {
		return fmt.Errorf("there is no frame %d: there are %d", q.Frame, len(a.Frames))
	}
	scope := api.EvalScope{GoroutineID: int64(q.Goroutine), Frame: skip + q.Frame}
	names := p.options.Shown[a.Frames[q.Frame].Function]
	if q.Expression != "" {
		return p.evaluate(q.Expression, scope, names, a)
	}
	args, err := p.target.arguments(scope)
	if err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	locals, err := p.target.locals(scope)
	if err != nil {
		return fmt.Errorf("read the variables: %w", err)
	}
	a.Arguments, a.Locals = variables(args, names), variables(locals, names)
	return nil
}

func (p *process) evaluate(text string, scope api.EvalScope, names []string, a *Answer) error {
	e := &expression{text: text, names: names, eval: func(part string) (*api.Variable, error) { return p.target.eval(scope, part) }}
	v, h, err := e.read()
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", text, err)
	}
	one := variable(v, h)
	a.Value = &one
	return nil
}

// holdOf returns the hold of a goroutine, or nil.
func (p *process) holdOf(goroutine uint64) *hold {
	for _, h := range p.holds {
		if h.Goroutine == goroutine {
			return h
		}
	}
	return nil
}

// walk finds the functions under way by the table that Go's runtime has for its own stack
// traces.
func (p *process) walk(h *hold, g uint64) ([]Frame, error) {
	if p.target.own == nil || p.target.own.why != nil {
		return nil, errors.New("the stack cannot be walked: the kubelet has no debug information")
	}
	var frames []park.Frame
	var err error
	if h != nil {
		frames, err = p.frames(h)
	} else {
		frames, err = p.framesOf(g)
	}
	out := make([]Frame, 0, len(frames))
	for _, f := range frames {
		out = append(out, Frame{Function: f.Function, File: f.File, Line: f.Line})
	}
	return out, err
}

// frames returns the functions under way on a held goroutine.
func (p *process) frames(h *hold) ([]park.Frame, error) {
	regs, err := p.target.own.regs(h.TID)
	if err != nil {
		return nil, err
	}
	g, err := p.target.own.program.Goroutine(regs)
	if err != nil {
		return nil, err
	}
	last := slices.IndexFunc(g.Frames, func(f park.Frame) bool { return f.Function == park.DebugCall })
	frames := g.Frames[last+1:]
	if f, ok := p.target.own.program.Find(frames[0].PC); ok && last >= 0 { // this is the next instruction, not one behind a call
		frames[0].File, frames[0].Line = f.FileAt(frames[0].PC), f.LineAt(frames[0].PC)
	}
	return frames, nil
}

// framesOf returns the functions under way on another goroutine: from where it waits, or from where its thread is. at
// is the address of the runtime's g.
func (p *process) framesOf(at uint64) ([]park.Frame, error) {
	program := p.target.own.program
	if g, err := program.Waiting(at); err == nil {
		return g.Frames, nil
	}
	all, err := p.target.own.threads()
	if err != nil {
		return nil, err
	}
	for _, tid := range all {
		regs, err := p.target.own.regs(tid)
		if err != nil || regs.R14 != at {
			continue
		}
		if g, err := program.Goroutine(regs); err == nil {
			return g.Frames, nil
		}
	}
	return nil, errors.New("the goroutine has ended, or its stack cannot be walked where it is")
}

// standBack gives the thread of a parked goroutine the registers that it had before, while Delve looks, so that Delve
// can read variables in registers. The kubelet stands still.
func (p *process) standBack(h *hold) (back func(), err error) {
	none := func() {}
	if h.Whole {
		return none, nil
	}
	own := p.target.own
	now, err := own.regs(h.TID)
	if err != nil || !h.wait.Interrupted(now) {
		return none, err // the thread has yet to begin its wait, or has ended it
	}
	if err := own.setRegs(h.TID, h.regs); err != nil {
		return none, fmt.Errorf("look where the goroutine was: %w", err)
	}
	return func() {
		if err := own.setRegs(h.TID, now); err != nil {
			p.note("a pod that is held cannot wait on: %v", err)
		}
	}, nil
}

// parked returns how many frames on top of a parked goroutine's stack belong to its wait.
func parked(frames []api.Stackframe) int {
	return 1 + slices.IndexFunc(frames, func(f api.Stackframe) bool {
		return f.Function != nil && f.Function.Name() == park.DebugCall
	})
}

// variables returns the variables of a function, without secrets. names are those whose texts are shown.
func variables(all []api.Variable, names []string) (out []Variable) {
	for i := range all {
		out = append(out, variable(&all[i], howNamed(&all[i], names)))
	}
	return out
}

func variable(v *api.Variable, h how) Variable {
	line, _ := show(v, h)
	return Variable{v.Name, v.Type, line}
}

// mostFrames bounds how far a stack is walked.
const mostFrames = 100

func (t *target) stack(goroutine int64) ([]api.Stackframe, error) {
	var out rpc2.StacktraceOut
	err := t.call("Stacktrace", rpc2.StacktraceIn{Id: goroutine, Depth: mostFrames}, &out)
	return out.Locations, err
}

func (t *target) eval(scope api.EvalScope, expression string) (*api.Variable, error) {
	var out rpc2.EvalOut
	err := t.call("Eval", rpc2.EvalIn{Scope: scope, Expr: expression, Cfg: &load}, &out)
	return out.Variable, err
}

func (t *target) arguments(scope api.EvalScope) ([]api.Variable, error) {
	var out rpc2.ListFunctionArgsOut
	err := t.call("ListFunctionArgs", rpc2.ListFunctionArgsIn{Scope: scope, Cfg: load}, &out)
	return out.Args, err
}

func (t *target) locals(scope api.EvalScope) ([]api.Variable, error) {
	var out rpc2.ListLocalVarsOut
	err := t.call("ListLocalVars", rpc2.ListLocalVarsIn{Scope: scope, Cfg: load}, &out)
	return out.Variables, err
}
