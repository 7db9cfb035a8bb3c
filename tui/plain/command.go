package plain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/session"
)

// commands lists what can be typed, in the order of the commands' numbers.
var commands = []struct {
	name, arg string
	text      probes.Text
}{
	{"pods", "", words.Text("what every pod is doing", "每个 Pod 正在做什么")},
	{"hold", "POD", words.Text("hold a pod at its next step", "在下一步停住 Pod")},
	{"step", "POD", words.Text("step a held pod into its next call", "单步进入被停住的 Pod 的下一个调用")},
	{"over", "POD", words.Text("step over what the call does", "越过当前调用")},
	{"cri", "POD", words.Text("to the next call to the runtime", "到下一个运行时调用")},
	{"continue", "POD", words.Text("let a pod go on", "放行 Pod")},
	{"release", "", words.Text("let all pods go on", "放行所有 Pod")},
	{"break", "POD STEP", words.Text("hold a pod at a step, also a pod to come", "在某个步骤停住 Pod，也适用于将来的 Pod")},
	{"help", "", words.Text("these commands", "这些命令")},
	{"quit", "", words.Text("end, and let the held pods go on", "退出并放行被停住的 Pod")},
}

func (p *printer) help() {
	for i, c := range commands {
		p.print(fmt.Sprintf("%d %s: %s", i+1, strings.TrimSpace(c.name+" "+c.arg), p.Lang.In(c.text)))
	}
}

// command runs one line. It returns true if the line ends the program.
func (p *printer) command(ctx context.Context, line string) (quit bool) {
	typed := strings.Fields(line)
	if len(typed) == 0 {
		return false
	}
	name, args := typed[0], typed[1:]
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(commands) {
		name = commands[n-1].name
	}
	switch name {
	case "quit", "q":
		return true
	case "help", "?":
		p.help()
		return false
	}
	if p.control == nil {
		p.printf(words.Text("A trace file is a recording: nothing in it can be held or stepped.", "跟踪文件只是录制，不能停住或单步。"))
		return false
	}
	do := p.job(name, args)
	if do == nil {
		return false
	}
	if p.waiting != nil {
		p.waiting()
	}
	within, cancel := context.WithCancel(ctx)
	p.waiting = cancel
	go func() {
		defer cancel()
		line, err := do(within)
		select {
		case p.results <- result{line, err}:
		case <-ctx.Done():
		}
	}()
	return false
}

// job returns the function that asks the agent for what a command wants. If the command makes no sense, job says why
// and returns nil.
func (p *printer) job(name string, args []string) func(context.Context) (string, error) {
	i := slices.IndexFunc(commands, func(c struct {
		name, arg string
		text      probes.Text
	}) bool {
		return c.name == name
	})
	if i < 0 {
		p.printf(words.Text("There is no command %s; help lists them.", "没有命令 %s；输入 help 查看。"), name)
		return nil
	}
	if want := len(strings.Fields(commands[i].arg)); len(args) != want {
		p.printf(words.Text("Usage: %s %s", "用法：%s %s"), name, commands[i].arg)
		return nil
	}
	var pods *agentpb.PodSelector
	if len(args) > 0 {
		var err error
		if pods, err = agentpb.ParsePods(args[0]); err != nil {
			p.printf(words.Text("%s is not the name of a pod; write NAMESPACE/NAME.", "%s 不是 Pod 的名称；Pod 写作 命名空间/名称。"), args[0])
			return nil
		}
	}
	control := p.control
	switch name {
	case "pods":
		return func(context.Context) (string, error) { control.Poll(); return "", errPods }
	case "hold":
		req := &agentpb.HoldRequest{Pods: pods}
		return p.held(func(ctx context.Context) (*agentpb.HoldInfo, error) { return control.Hold(ctx, req) })
	case "step", "over", "cri":
		req := &agentpb.StepRequest{Pods: pods, Mode: modes[name]}
		return p.held(func(ctx context.Context) (*agentpb.HoldInfo, error) { return control.Step(ctx, req) })
	case "continue":
		return p.letGo(control, &agentpb.ContinueRequest{Pods: pods})
	case "release":
		return p.letGo(control, &agentpb.ContinueRequest{All: true})
	}
	req := &agentpb.AddBreakpointRequest{
		Pods: pods, Step: args[1], Times: agentpb.DefaultTimes,
		Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}},
	}
	lang := p.Lang
	return func(ctx context.Context) (string, error) {
		b, err := control.AddBreakpoint(ctx, req)
		return fmt.Sprintf(lang.In(words.Text("Breakpoint %d: set", "断点 %d：已设置")), b.GetId()), err
	}
}

var modes = map[string]agentpb.StepMode{
	"step": agentpb.StepMode_INTO, "over": agentpb.StepMode_OVER, "cri": agentpb.StepMode_NEXT_CRI,
}

// errPods makes result print the list of pods, as of the last poll.
var errPods = errors.New("list pods")

func (p *printer) held(do func(context.Context) (*agentpb.HoldInfo, error)) func(context.Context) (string, error) {
	lang := p.Lang
	return func(ctx context.Context) (string, error) {
		h, err := do(ctx)
		if err != nil {
			return "", err
		}
		end, _ := h.End()
		return fmt.Sprintf(lang.In(words.Text("Pod %s: held at %s of %s; it goes on by itself in %s", "Pod %s：被停住，%s %s；%s 后自动继续")),
			wire.PodOf(h.GetPod()).NamespacedName(), h.GetOn(), h.GetStep(), words.Took(end.Round(time.Second))), nil
	}
}

func (p *printer) letGo(control session.Control, req *agentpb.ContinueRequest) func(context.Context) (string, error) {
	lang := p.Lang
	return func(ctx context.Context) (string, error) {
		let, err := control.Continue(ctx, req)
		return fmt.Sprintf(lang.In(words.Text("Pods that go on: %d", "已放行的 Pod：%d")), len(let)), err
	}
}

func (p *printer) result(r result) {
	switch {
	case errors.Is(r.err, errPods):
		p.pods()
	case errors.Is(r.err, context.Canceled):
	case r.err != nil:
		p.printf(words.Text("Error: %s", "错误：%s"), p.Lang.In(reason.Error(r.err)))
	default:
		p.print(r.line)
	}
}

// poll keeps the list of what the pods do, and prints the first one.
func (p *printer) poll(n *session.Poll) {
	first := p.last == nil
	p.last = n
	p.state.SetPods(n.Pods)
	if first {
		p.pods()
	}
}

func (p *printer) pods() {
	if p.last == nil {
		p.printf(words.Text("Pods: not known yet", "Pod：尚不清楚"))
		return
	}
	if len(p.last.Pods) == 0 {
		p.printf(words.Text("Pods: none on this node", "Pod：本节点上没有"))
		return
	}
	p.state.Tick(time.Now())
	for _, s := range p.last.Pods {
		if text, ok := p.state.Sentence(s.GetPod().GetUid()); ok {
			p.print("Pod " + wire.PodOf(s.GetPod()).NamespacedName() + ": " + text)
		}
	}
}
