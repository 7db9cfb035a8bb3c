// Package stack shows on the screen what a debugger knows about the goroutine of a held pod: the functions under
// way, the variables of one of them, the value of an expression. The whole kubelet stands still for each question.
// So the package asks one question at a time, and none whose answer nobody waits for any more.
package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// Desk gives a stack what it needs of the screen.
type Desk interface {
	// Text returns a text in the reader's language.
	Text(t probes.Text) string
	// Held reports whether a hold goes on.
	Held(h *agentpb.HoldInfo) bool
	// Kubelet returns the version of the kubelet.
	Kubelet() string
	// Point says what breakpoints do at a line of a file.
	Point(file string, line int) screen.Point
	// CanLog reports whether values can be logged at lines of the code. Log asks what to log at such a place.
	CanLog() bool
	Log(place string)
	// Refused takes away a page that has nothing to show, and shows why.
	Refused(p *Page, err error)
}

// question is a question to the debugger. Without an expression it asks for the variables of the frame.
type question struct {
	frame      int
	expression string
	goroutine  uint64 // 0: the one that is held
	step       bool   // lets the pod go on by line to its next hold
	mode       agentpb.StepMode
}

// Page is the stack of one held pod.
type Page struct {
	desk    Desk
	control session.Control
	ctx     context.Context
	leave   context.CancelFunc
	hold    *agentpb.HoldInfo
	name    string

	// going is the question that has no answer yet. next is the question to ask after it.
	going, next *question
	// known is the answer for the frame knownFrame; nil if none has come.
	known      *agentpb.LookResponse
	knownFrame int
	// frame is the chosen frame, of the chosen goroutine. knownGoroutine is the goroutine of known.
	frame                     int
	goroutine, knownGoroutine uint64
	// value is the answer to an expression in that frame.
	value      *agentpb.LookResponse
	expression string
	// last is the last answer. err says why the last question has none.
	last *agentpb.LookResponse
	err  error

	// from is the first line of values that is shown, all is how many there are, and rows is how many fit.
	from, rows, all int
	input           *ask.Input
}

// Open opens a page and asks for the stack of a held pod. The page asks until it is left or ctx ends.
func Open(ctx context.Context, d Desk, c session.Control, h *agentpb.HoldInfo) (*Page, tea.Cmd) {
	p := &Page{desk: d, control: c, hold: h, name: wire.PodOf(h.GetPod()).NamespacedName()}
	p.ctx, p.leave = context.WithCancel(ctx)
	return p, p.ask(question{})
}

// Msg brings the result of a question.
type Msg struct {
	page   *Page
	of     *question
	answer *agentpb.LookResponse
	hold   *agentpb.HoldInfo // after a step
	err    error
}

// ask asks a question, once the question before has its answer.
func (p *Page) ask(q question) tea.Cmd {
	if p.going != nil {
		p.next = &q
		return nil
	}
	p.going = &q
	ctx, control, pods := p.ctx, p.control, session.Only(p.hold.GetPod())
	if q.step {
		return func() tea.Msg {
			h, err := control.Step(ctx, &agentpb.StepRequest{Pods: pods, Mode: q.mode})
			return Msg{page: p, of: &q, hold: h, err: err}
		}
	}
	req := &agentpb.LookRequest{Pods: pods, Frame: uint32(q.frame), Expression: q.expression, Goroutine: q.goroutine}
	return func() tea.Msg {
		answer, err := control.Look(ctx, req)
		return Msg{page: p, of: &q, answer: answer, err: err}
	}
}

// Take shows an answer, and asks the question that has come up meanwhile.
func (msg Msg) Take() tea.Cmd {
	p := msg.page
	if p.ctx.Err() != nil {
		return nil // it was left
	}
	p.going = nil
	if msg.err != nil && p.known == nil {
		p.leave()
		p.desk.Refused(p, msg.err)
		return nil
	}
	if msg.of.step {
		return p.stepped(msg)
	}
	p.noteAnswer(msg)
	next := p.next
	p.next = nil
	if next == nil {
		return nil
	}
	return p.ask(*next)
}

// stepped shows where the pod is held after a step by line.
func (p *Page) stepped(msg Msg) tea.Cmd {
	p.next, p.err = nil, msg.err
	if msg.err != nil {
		return nil
	}
	p.hold, p.goroutine = msg.hold, 0
	return p.show(question{})
}

// show chooses a frame and asks about it.
func (p *Page) show(q question) tea.Cmd {
	p.frame, p.goroutine, p.value, p.err, p.from = q.frame, q.goroutine, nil, nil, 0
	return p.ask(q)
}

// step lets the pod go on by line, if it is held and no question is under way.
func (p *Page) step(mode agentpb.StepMode) tea.Cmd {
	if p.known == nil || p.going != nil || !p.desk.Held(p.hold) {
		return nil
	}
	return p.ask(question{step: true, mode: mode})
}

// nextGoroutine chooses the next goroutine of the pod.
func (p *Page) nextGoroutine() tea.Cmd {
	all := p.known.GetGoroutines()
	if len(all) < 2 {
		return nil
	}
	at := max(0, slices.IndexFunc(all, func(g *agentpb.Goroutine) bool { return g.GetId() == p.goroutine }))
	next := (at + 1) % len(all)
	if next == 0 {
		return p.show(question{})
	}
	return p.show(question{goroutine: all[next].GetId()})
}

// noteAnswer keeps an answer. If there is none, nothing changes: the former frame is the chosen one again.
func (p *Page) noteAnswer(msg Msg) {
	p.err = msg.err
	switch {
	case msg.err != nil && msg.of.expression == "" && p.frame == msg.of.frame:
		p.frame, p.goroutine, p.next = p.knownFrame, p.knownGoroutine, nil
	case msg.err != nil:
	case msg.of.expression == "":
		p.known, p.knownFrame, p.knownGoroutine, p.last = msg.answer, msg.of.frame, msg.of.goroutine, msg.answer
		p.value, p.from = nil, 0
	case msg.of.frame == p.frame && msg.of.goroutine == p.goroutine:
		p.value, p.expression, p.last, p.from = msg.answer, msg.of.expression, msg.answer, 0
	}
}

// choose chooses a frame, and asks for its variables. It does not ask if the debugger knows no variables of any
// frame.
func (p *Page) choose(frame int) tea.Cmd {
	frame = max(0, min(frame, len(p.known.GetFrames())-1))
	if frame == p.frame {
		return nil
	}
	p.frame, p.value, p.err, p.from = frame, nil, nil, 0
	if p.known.GetWithout() != "" {
		p.knownFrame = frame
		return nil
	}
	return p.ask(question{frame: frame, goroutine: p.goroutine})
}

// Key takes a key.
func (p *Page) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	if p.input != nil {
		cmd, over := p.input.Key(k)
		if over {
			p.input = nil
		}
		return cmd, false
	}
	half := max(1, p.rows/2)
	switch k.String() {
	case "up", "k":
		return p.choose(p.frame - 1), false
	case "down", "j":
		return p.choose(p.frame + 1), false
	case "home", "g":
		return p.choose(0), false
	case "end", "G":
		return p.choose(len(p.known.GetFrames()) - 1), false
	case "pgup", "ctrl+u":
		p.Move(-half)
	case "pgdown", "ctrl+d", "space":
		p.Move(half)
	case "p":
		p.typeExpression()
	case "n":
		return p.step(agentpb.StepMode_LINE_OVER), false
	case "s":
		return p.step(agentpb.StepMode_LINE_INTO), false
	case "o":
		return p.step(agentpb.StepMode_LINE_OUT), false
	case "tab":
		return p.nextGoroutine(), false
	case "v":
		p.logHere()
	case "esc", "q", "h", "left", "V":
		p.leave()
		return nil, true
	}
	return nil, false
}

// Move scrolls down by some lines in the variables.
func (p *Page) Move(by int) { p.from = max(0, min(p.from+by, p.all-p.rows)) }

// Item takes a click on a frame.
func (p *Page) Item(frame int) (tea.Cmd, bool) { return p.choose(frame), false }

// Paste takes text into the line that is being typed.
func (p *Page) Paste(s string) {
	if p.input != nil {
		p.input.Paste(s)
	}
}

// typeExpression opens the line in which an expression is typed.
func (p *Page) typeExpression() {
	if p.known == nil {
		return // there are no frames yet in which to evaluate it
	}
	p.input = ask.NewInput(p.desk.Text(words.Text("print", "求值")), "", p.complete, func(expression string) (tea.Cmd, error) {
		if expression == "" {
			return nil, nil
		}
		return p.ask(question{frame: p.frame, expression: expression, goroutine: p.goroutine}), nil
	})
}

// logHere asks what to log at the line of the chosen frame.
func (p *Page) logHere() {
	if frames := p.known.GetFrames(); p.frame < len(frames) && frames[p.frame].GetFile() != "" && p.desk.CanLog() {
		p.desk.Log(fmt.Sprintf("%s:%d", sourcePath(frames[p.frame].GetFile()), frames[p.frame].GetLine()))
	}
}

// knows reports whether the answer for the chosen frame has come.
func (p *Page) knows() bool {
	return p.known != nil && p.knownFrame == p.frame && p.knownGoroutine == p.goroutine
}

// complete returns the variables whose names begin with what was typed.
func (p *Page) complete(typed string) (out []string) {
	if !p.knows() {
		return nil
	}
	for _, v := range slices.Concat(p.known.GetArguments(), p.known.GetLocals()) {
		if strings.HasPrefix(v.GetName(), typed) && v.GetName() != typed {
			out = append(out, words.Clean(v.GetName()))
		}
	}
	return out
}

// refusal says why the last question has no answer, in the reader's language.
func (p *Page) refusal() string {
	if p.err == nil {
		return ""
	}
	return words.OneLine(p.desk.Text(reason.Error(p.err)))
}
