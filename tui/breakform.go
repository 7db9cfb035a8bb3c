package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// field is one line of a form: text to type, or a choice among a few words.
type field struct {
	label text
	help  text
	line  ask.Line
	of    []text // words to choose from; nil: the field is text
	at    int
}

// The lines of a breakpoint's form.
const (
	fieldPods = iota
	fieldSteps
	fieldOn
	fieldAction
	fieldValue
	fieldIf
	fieldTimes
	fieldCount
)

// What a breakpoint can do, in the order of fieldAction's words.
const (
	actHold = iota
	actFail
	actDelay
	actLog
)

// breakForm is the form for a new breakpoint.
type breakForm struct {
	m      *Model
	fields [fieldCount]field
	cursor int // a field, or fieldCount for the buttons
	button int
	offers []string
	offer  int
	err    string
}

func newBreakForm(m *Model, pods, steps string) *breakForm {
	f := &breakForm{m: m, button: 1}
	f.fields = [fieldCount]field{
		fieldPods:   {label: words.Text("pods", "Pod"), help: words.Text("a name or a pattern, such as default/web or */db-*; also pods to come", "名称或模式，例如 default/web 或 */db-*；也适用于将来的 Pod"), line: ask.NewLine(pods)},
		fieldSteps:  {label: words.Text("step", "步骤"), help: words.Text("a step or a pattern, such as cri.*; Tab completes. With Delve also FUNCTION or FILE:LINE", "步骤或模式，例如 cri.*；按 Tab 补全。有 Delve 时也可写函数名或 文件:行号"), line: ask.NewLine(steps)},
		fieldOn:     {label: words.Text("on", "时机"), of: []text{words.Text("enter", "进入时"), words.Text("exit", "返回时"), words.Text("error", "出错时")}},
		fieldAction: {label: words.Text("action", "动作"), of: []text{words.Text("hold the pod", "停住 Pod"), words.Text("fail with an error", "返回错误"), words.Text("delay", "延迟"), words.Text("log values", "记录值")}},
		fieldValue:  {label: words.Text("with", "内容"), help: words.Text("for fail: the error; for delay: how long, such as 2s", "返回错误时：错误信息；延迟时：时长，例如 2s")},
		fieldIf:     {label: words.Text("if", "条件")},
		fieldTimes:  {label: words.Text("times", "次数"), help: words.Text("how often, over all pods; 0: a hold every time, a fault once", "对所有 Pod 共生效几次；0：停住每次都生效，故障只一次"), line: ask.NewLine(strconv.Itoa(agentpb.DefaultTimes))},
	}
	if pods != "" {
		f.cursor = fieldSteps
	}
	if steps != "" {
		f.cursor = fieldCount
	}
	if m.info.GetReadOnly() {
		f.fields[fieldAction].at = actLog
	}
	return f
}

// askBreak opens the form for a breakpoint, with the selected pod and step filled in.
func (m *Model) askBreak() tea.Cmd {
	pods, steps := "", ""
	if pod, ok := m.selected(); ok {
		pods = pod.NamespacedName()
		if s := m.screen(); s.Focus != screen.PanePods {
			steps = m.state.SelectedStep()
		}
	}
	m.push(newBreakForm(m, pods, steps))
	return nil
}

func (f *breakForm) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
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
		return f.buttonKey(name)
	}
	in := &f.fields[f.cursor]
	switch {
	case name == "enter":
		f.move(1)
	case name == "tab":
		if !f.complete(in) {
			f.move(1)
		}
	case in.of != nil:
		in.choose(name)
	case in.line.Edit(k):
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

func (f *breakForm) Paste(s string) {
	if f.cursor < fieldCount && f.fields[f.cursor].of == nil {
		f.fields[f.cursor].line.Insert(s)
	}
}

// move goes to another field that is shown, or to the buttons behind the last one.
func (f *breakForm) move(by int) {
	f.offers = nil
	stops := append(f.shown(), fieldCount)
	f.cursor = stops[max(0, min(slices.Index(stops, f.cursor)+by, len(stops)-1))]
}

func (f *breakForm) buttonKey(name string) (tea.Cmd, bool) {
	switch name {
	case "tab": // round: Add, Cancel, and the first line again
		if f.button == 0 {
			f.cursor = 0
		}
		f.button = 1 - f.button
	case "left", "right", "h", "l":
		f.button = 1 - f.button
	case "enter", "space":
		return f.Press(f.button)
	}
	return nil, false
}

// Item takes a click on a field.
func (f *breakForm) Item(i int) (tea.Cmd, bool) {
	if shown := f.shown(); inRange(i, len(shown)) {
		f.cursor, f.offers = shown[i], nil
	}
	return nil, false
}

// Press takes a click on a button: 0 is Cancel, 1 is Add.
func (f *breakForm) Press(button int) (tea.Cmd, bool) {
	if button == 0 {
		return nil, true
	}
	req, err := f.request()
	if err != nil {
		f.err = err.Error()
		return nil, false
	}
	return f.m.addBreak(req), true
}

// complete inserts the next completion; it returns false if there is none.
func (f *breakForm) complete(in *field) bool {
	if f.offers == nil && in.line.String() == "" {
		return false // Tab goes on
	}
	if f.offers == nil {
		f.offers, f.offer = f.completions(), -1
	}
	if len(f.offers) == 0 || (len(f.offers) == 1 && f.offers[0] == in.line.String()) {
		return false
	}
	f.offer = (f.offer + 1) % len(f.offers)
	in.line.Set(f.offers[f.offer])
	return true
}

func (f *breakForm) completions() (out []string) {
	switch f.cursor {
	case fieldSteps:
		return stepsLike(f.m.catalogue(), f.fields[fieldSteps].line.String())
	case fieldValue:
		return f.valuesLike(f.fields[fieldValue].line.String())
	case fieldIf:
		if !f.atPlace() {
			return f.m.completeFilter(f.fields[fieldIf].line.String())
		}
	case fieldPods:
		for _, r := range f.m.pods() {
			if name := (probes.Pod{Namespace: r.Namespace, Name: r.Name}).NamespacedName(); strings.Contains(name, f.fields[fieldPods].line.String()) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (f *breakForm) Overlay(*view.Styles) *screen.Overlay {
	shown := f.shown()
	o := &screen.Overlay{
		Kind: screen.OverDialog, Title: f.m.text(words.Text("Breakpoint", "断点")), Cursor: slices.Index(shown, f.cursor),
		Buttons: []string{f.m.text(words.Text("Cancel", "取消")), f.m.text(words.Text("Add", "添加"))},
	}
	for _, i := range shown {
		in := &f.fields[i]
		value := in.line.String()
		if in.of != nil {
			value = "‹ " + f.m.text(in.of[in.at]) + " ›"
			if f.m.opts.ASCII {
				value = "< " + f.m.text(in.of[in.at]) + " >"
			}
		}
		if i == fieldTimes {
			value = f.timesWords(value)
		}
		o.Items = append(o.Items, screen.Item{Text: f.m.text(in.label) + ": " + value})
	}
	if f.cursor == fieldCount {
		o.Cursor = len(shown) + f.button
	} else if in := &f.fields[f.cursor]; in.of == nil {
		o.Input = &screen.Input{Prompt: f.m.text(in.label), Text: in.line.String(), Cursor: in.line.Cursor(), Help: f.hint()}
	}
	if f.err != "" {
		o.Text = append(o.Text, f.err)
	}
	return o
}

// timesWords returns what a number of times means.
func (f *breakForm) timesWords(value string) string {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err != nil || n != 0 {
		return value
	}
	if at := f.fields[fieldAction].at; at == actHold || at == actLog {
		return value + f.m.text(words.Text(" (every time, every pod)", "（每次，每个 Pod）"))
	}
	return value + f.m.text(words.Text(" (once)", "（一次）"))
}

// hint says what to type: it lists completions, or gives an example.
func (f *breakForm) hint() string {
	offers := f.offers
	if offers == nil {
		offers = f.completions()
	}
	if help := f.logHelp(); help != "" && (len(offers) == 0 || f.fields[f.cursor].line.String() == "") {
		return help
	}
	if len(offers) == 0 || f.fields[f.cursor].line.String() == "" {
		return f.m.text(f.fields[f.cursor].help)
	}
	return ask.Offers(offers)
}
