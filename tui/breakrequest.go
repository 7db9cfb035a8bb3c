package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
)

// request makes the request to the agent, or says what is wrong with the form.
func (f *breakForm) request() (*agentpb.AddBreakpointRequest, error) {
	steps, place, err := f.where()
	if err != nil {
		return nil, err
	}
	pods, err := agentpb.ParsePods(strings.TrimSpace(f.fields[fieldPods].line.String()))
	if err != nil {
		return nil, errors.New(f.m.text(words.Text("a pod is written as NAMESPACE/NAME", "Pod 写作 命名空间/名称")))
	}
	times, err := strconv.ParseUint(strings.TrimSpace(f.fields[fieldTimes].line.String()), 10, 32)
	if err != nil {
		return nil, errors.New(f.m.text(words.Text("times is a number; 0: a hold every time, a fault once", "次数是一个数字；0：停住每次都生效，故障只一次")))
	}
	req := &agentpb.AddBreakpointRequest{
		Pods: pods, Step: steps, At: place, On: agentpb.On(f.fields[fieldOn].at), Times: uint32(times),
	}
	return req, f.setAction(req)
}

// where returns the place of the breakpoint: steps, or a place in the kubelet's code.
func (f *breakForm) where() (steps, place string, err error) {
	steps = f.steps()
	if err := f.checkRights(); err != nil {
		return "", "", err
	}
	hold := f.fields[fieldAction].at == actHold
	if isPlace(steps) {
		if !hold && !f.logs() || agentpb.On(f.fields[fieldOn].at) != agentpb.On_ON_ENTER {
			return "", "", errors.New(f.m.text(words.Text("at a function or a line a pod can only be held, or values logged, as it comes there", "在函数或代码行处只能在到达时停住 Pod 或记录值")))
		}
		return "", steps, nil
	}
	if err := f.m.checkStep(steps); err != nil {
		return "", "", err
	}
	if err := f.m.checkHold(steps); hold && err != nil {
		return "", "", fmt.Errorf("%w%s", err, f.m.text(words.Text("; the action \"log values\" is possible there", "；可以改用动作“记录值”")))
	}
	return steps, "", nil
}

// line matches the end of a place that names a line.
var line = regexp.MustCompile(`:[0-9]+$`)

// isPlace reports whether a text is a place in the kubelet's code, in Delve's syntax: a
// function with its package or its receiver, or a line. No step has such a name.
func isPlace(text string) bool { return strings.ContainsAny(text, "/(") || line.MatchString(text) }

func (f *breakForm) setAction(req *agentpb.AddBreakpointRequest) error {
	value := strings.TrimSpace(f.fields[fieldValue].line.String())
	switch f.fields[fieldAction].at {
	case actFail:
		if value == "" {
			return errors.New(f.m.text(words.Text("give the error with which the step fails", "请输入要返回的错误信息")))
		}
		req.Action = &agentpb.AddBreakpointRequest_Fail{Fail: value}
	case actDelay:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errors.New(f.m.text(words.Text("give a duration, such as 2s", "请输入时长，例如 2s")))
		}
		req.Action = &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(d)}
	case actLog:
		return f.setLog(req, value)
	default:
		req.Action = &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}}
	}
	return nil
}

// addBreak sets a breakpoint. It asks first if a hold there would stop the whole node.
func (m *Model) addBreak(req *agentpb.AddBreakpointRequest) tea.Cmd {
	_, holds := req.Action.(*agentpb.AddBreakpointRequest_Hold)
	if holds && m.standsStill(req.Step, req.On) {
		m.push(&ask.Dialog{
			Title: m.text(words.Text("The node stands still", "整个节点会停住")),
			Text: []string{
				m.textf(words.Text("%s runs for all pods of node %s. While a pod is held there, nothing else on the node goes on.", "%s 服务于节点 %s 上的所有 Pod。在这里停住一个 Pod 时，节点上的其他一切都会停住。"), req.Step, m.node()),
				m.text(words.Text("It is a lab, so this harms nobody. {key:hold.release} lets all go.", "这是实验环境，不会影响他人。按 {key:hold.release} 全部放行。")),
			},
			Danger:  true,
			Buttons: []string{m.text(words.Text("Cancel", "取消")), m.text(words.Text("Hold the node", "停住节点"))},
			Chose: func(button int) tea.Cmd {
				if button != 1 {
					return nil
				}
				return m.sendBreak(req)
			},
		})
		return nil
	}
	return m.sendBreak(req)
}

// standsStill reports whether a hold at one of the steps stops the whole node.
func (m *Model) standsStill(glob string, on agentpb.On) bool {
	for _, s := range m.info.GetSteps() {
		if ok, _ := path.Match(glob, s.GetName()); !ok {
			continue
		}
		rule := s.GetHoldExit()
		if on == agentpb.On_ON_ENTER {
			rule = s.GetHoldEnter()
		}
		if rule == "node" {
			return true
		}
	}
	return false
}

func (m *Model) sendBreak(req *agentpb.AddBreakpointRequest) tea.Cmd {
	control, lang := m.control, m.lang
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, callTime)
		defer cancel()
		b, err := control.AddBreakpoint(ctx, req)
		if err != nil {
			return doneMsg{err: err}
		}
		message := fmt.Sprintf(lang.In(words.Text("breakpoint %d at %s", "断点 %d：%s")), b.GetId(), cmp.Or(req.Step, req.At))
		if r := b.GetRefused(); len(r) > 0 {
			message += fmt.Sprintf(lang.In(words.Text("; not at %s: %s", "；不能用于 %s：%s")), r[0].GetStep(), lang.In(reason.Problem(r[0].GetProblem())))
		}
		return doneMsg{text: message}
	}
}
