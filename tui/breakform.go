package tui

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/state"
)

// field is one line of a form: text to type, or one of a few words.
type field struct {
	label text
	help  text
	line  line
	of    []text // words to choose from; nil for text
	at    int
}

// The lines of a breakpoint's form.
const (
	fieldPods = iota
	fieldSteps
	fieldOn
	fieldAction
	fieldValue
	fieldTimes
	fieldCount
)

// What a breakpoint can do, in the order of fieldAction's words.
const (
	actHold = iota
	actFail
	actDelay
)

// breakForm asks for a breakpoint.
type breakForm struct {
	fields [fieldCount]field
	cursor int // a field, or fieldCount for the buttons
	button int
	offers []string
	offer  int
	err    string
}

func newBreakForm(pods, steps string) *breakForm {
	f := &breakForm{button: 1}
	f.fields = [fieldCount]field{
		fieldPods:   {label: say("pods", "Pod"), help: say("a name or a pattern, such as default/web or */db-*; also pods to come", "名称或模式，例如 default/web 或 */db-*；也适用于将来的 Pod"), line: newLine(pods)},
		fieldSteps:  {label: say("step", "步骤"), help: say("a step or a pattern, such as cri.*; Tab completes", "步骤或模式，例如 cri.*；按 Tab 补全"), line: newLine(steps)},
		fieldOn:     {label: say("on", "时机"), of: []text{say("enter", "进入时"), say("exit", "返回时"), say("error", "出错时")}},
		fieldAction: {label: say("action", "动作"), of: []text{say("hold the pod", "按住 Pod"), say("fail with an error", "返回错误"), say("delay", "延迟")}},
		fieldValue:  {label: say("with", "内容"), help: say("for fail: the error; for delay: how long, such as 2s", "返回错误时：错误信息；延迟时：时长，例如 2s")},
		fieldTimes:  {label: say("times", "次数"), help: say("how often; 0 is without end", "生效几次；0 表示不限"), line: newLine("1")},
	}
	if pods != "" {
		f.cursor = fieldSteps
	}
	if steps != "" {
		f.cursor = fieldCount
	}
	return f
}

// askBreak asks for a breakpoint, with what is selected filled in.
func (m *Model) askBreak() tea.Cmd {
	pods, steps := "", ""
	if pod, ok := m.selected(); ok {
		pods = pod.Namespace + "/" + pod.Name
		if s := m.screen(); s.Focus != state.PanePods {
			steps = m.state.SelectedStep()
		}
	}
	m.push(newBreakForm(pods, steps))
	return nil
}

func (f *breakForm) key(m *Model, k tea.KeyPressMsg) (tea.Cmd, bool) {
	name := k.String()
	switch name {
	case "esc":
		return nil, true
	case "up", "shift+tab":
		f.move(-1)
		return nil, false
	case "down":
		f.move(1)
		return nil, false
	}
	if f.cursor == fieldCount {
		return f.buttonKey(m, name)
	}
	in := &f.fields[f.cursor]
	switch {
	case name == "enter":
		f.move(1)
	case name == "tab":
		if !f.complete(m, in) {
			f.move(1)
		}
	case in.of != nil:
		in.choose(name)
	case in.line.edit(k):
		f.offers, f.err = nil, ""
	}
	return nil, false
}

func (in *field) choose(key string) {
	switch key {
	case "right", "l", "space":
		in.at = (in.at + 1) % len(in.of)
	case "left", "h":
		in.at = (in.at + len(in.of) - 1) % len(in.of)
	}
}

func (f *breakForm) paste(_ *Model, s string) {
	if f.cursor < fieldCount && f.fields[f.cursor].of == nil {
		f.fields[f.cursor].line.insert(s)
	}
}

func (f *breakForm) move(by int) {
	f.offers = nil
	f.cursor = max(0, min(f.cursor+by, fieldCount))
}

func (f *breakForm) buttonKey(m *Model, name string) (tea.Cmd, bool) {
	switch name {
	case "left", "right", "h", "l", "tab":
		f.button = 1 - f.button
	case "enter", "space":
		return f.press(m, f.button)
	}
	return nil, false
}

// press is a click on a button.
func (f *breakForm) press(m *Model, button int) (tea.Cmd, bool) {
	if button == 0 {
		return nil, true
	}
	req, err := f.request(m)
	if err != nil {
		f.err = err.Error()
		return nil, false
	}
	return m.addBreak(req), true
}

// complete puts in the next completion; false if there is none.
func (f *breakForm) complete(m *Model, in *field) bool {
	if f.offers == nil {
		f.offers, f.offer = f.completions(m), -1
	}
	if len(f.offers) == 0 || (len(f.offers) == 1 && f.offers[0] == in.line.String()) {
		return false
	}
	f.offer = (f.offer + 1) % len(f.offers)
	in.line.set(f.offers[f.offer])
	return true
}

func (f *breakForm) completions(m *Model) (out []string) {
	switch f.cursor {
	case fieldSteps:
		return stepsLike(m.catalogue(), f.fields[fieldSteps].line.String())
	case fieldPods:
		for _, r := range m.pods() {
			if name := r.Namespace + "/" + r.Name; strings.Contains(name, f.fields[fieldPods].line.String()) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (f *breakForm) overlay(m *Model, _ int) *state.Overlay {
	o := &state.Overlay{
		Kind: state.OverDialog, Title: m.say(say("Breakpoint", "断点")), Cursor: f.cursor,
		Buttons: []string{m.say(say("Cancel", "取消")), m.say(say("Add", "添加"))},
	}
	for i := range f.fields {
		in := &f.fields[i]
		value := in.line.String()
		if in.of != nil {
			value = "‹ " + m.say(in.of[in.at]) + " ›"
			if m.opts.ASCII {
				value = "< " + m.say(in.of[in.at]) + " >"
			}
		}
		o.Items = append(o.Items, state.Item{Text: m.say(in.label) + ": " + value})
	}
	if f.cursor == fieldCount {
		o.Cursor = fieldCount + f.button
	} else if in := &f.fields[f.cursor]; in.of == nil {
		o.Input = &state.Input{Prompt: m.say(in.label), Text: in.line.String(), Cursor: in.line.at, Help: f.hint(m)}
	}
	if f.err != "" {
		o.Text = append(o.Text, f.err)
	}
	return o
}

// hint says what to type: the completions there are, or an example.
func (f *breakForm) hint(m *Model) string {
	offers := f.offers
	if offers == nil {
		offers = f.completions(m)
	}
	if len(offers) == 0 || f.fields[f.cursor].line.String() == "" {
		return m.say(f.fields[f.cursor].help)
	}
	return keyName("tab") + ": " + strings.Join(offers[:min(len(offers), shownOffers)], "  ")
}

// request makes what the agent is asked, or says what is wrong.
func (f *breakForm) request(m *Model) (*agentpb.AddBreakpointRequest, error) {
	steps := strings.TrimSpace(f.fields[fieldSteps].line.String())
	if err := m.checkStep(steps); err != nil {
		return nil, err
	}
	pods, err := podSelector(f.fields[fieldPods].line.String())
	if err != nil {
		return nil, errors.New(m.say(say("a pod is written as NAMESPACE/NAME", "Pod 写作 命名空间/名称")))
	}
	times, err := strconv.ParseUint(strings.TrimSpace(f.fields[fieldTimes].line.String()), 10, 32)
	if err != nil {
		return nil, errors.New(m.say(say("times is a number, 0 for without end", "次数是一个数字，0 表示不限")))
	}
	req := &agentpb.AddBreakpointRequest{
		Pods: pods, Step: steps, On: agentpb.On(f.fields[fieldOn].at), Times: uint32(times),
	}
	return req, f.setAction(m, req)
}

func (f *breakForm) setAction(m *Model, req *agentpb.AddBreakpointRequest) error {
	value := strings.TrimSpace(f.fields[fieldValue].line.String())
	switch f.fields[fieldAction].at {
	case actFail:
		if value == "" {
			return errors.New(m.say(say("say with which error it is to fail", "请输入要返回的错误信息")))
		}
		req.Action = &agentpb.AddBreakpointRequest_Fail{Fail: value}
	case actDelay:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errors.New(m.say(say("say how long, such as 2s", "请输入时长，例如 2s")))
		}
		req.Action = &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(d)}
	default:
		req.Action = &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}}
	}
	return nil
}

// podSelector reads NAMESPACE/NAME, or NAME; globs are welcome.
func podSelector(s string) (*agentpb.PodSelector, error) {
	s = strings.TrimSpace(s)
	namespace, name, two := strings.Cut(s, "/")
	if !two {
		namespace, name = "", s
	}
	for _, g := range []string{namespace, name} {
		if _, err := path.Match(g, ""); err != nil || strings.Contains(g, "/") {
			return nil, fmt.Errorf("read pod %q: no name", s)
		}
	}
	return &agentpb.PodSelector{Namespace: namespace, Name: name}, nil
}

// addBreak sets a breakpoint, after asking where the node would stand still.
func (m *Model) addBreak(req *agentpb.AddBreakpointRequest) tea.Cmd {
	_, holds := req.Action.(*agentpb.AddBreakpointRequest_Hold)
	if holds && m.standsStill(req.Step, req.On) {
		m.push(&dialog{
			title: m.say(say("The node stands still", "整个节点会停住")),
			text: []string{
				m.sayf(say("%s runs for all pods of node %s. While a pod is held there, nothing else on the node goes on.", "%s 服务于节点 %s 上的所有 Pod。在这里按住一个 Pod 时，节点上的其他一切都会停住。"), req.Step, m.node()),
				m.say(say("It is a lab, so this harms nobody. R lets all go.", "这是实验环境，不会影响他人。按 R 全部放行。")),
			},
			danger:  true,
			buttons: []string{m.say(say("Cancel", "取消")), m.say(say("Hold the node", "按住节点"))},
			chose: func(m *Model, button int) tea.Cmd {
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

// standsStill tells whether a hold at one of the steps stops the whole node.
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
		said := fmt.Sprintf(lang.Say(say("breakpoint %d at %s", "断点 %d：%s")), b.GetId(), req.Step)
		if r := b.GetRefused(); len(r) > 0 {
			said += fmt.Sprintf(lang.Say(say("; not at %s: %s", "；不能用于 %s：%s")), r[0].GetStep(), r[0].GetWhy())
		}
		return doneMsg{text: said}
	}
}
