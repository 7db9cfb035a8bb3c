package tui

import (
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

// breakForm is the form for a new breakpoint.
type breakForm struct {
	m      *Model
	acts   []breakAction
	fields [fieldCount]field
	cursor int // a field, or fieldCount for the buttons
	button int
	offers []string
	offer  int
	err    string
}

func newBreakForm(m *Model, pods, steps string) *breakForm {
	f := &breakForm{m: m, button: 1, acts: m.breakActions()}
	f.fields = [fieldCount]field{
		fieldPods:   {label: words.Text("pods", "Pod"), help: words.Text("a name or a pattern, such as default/web or */db-*; also pods to come", "名称或模式，例如 default/web 或 */db-*；也适用于将来的 Pod"), line: ask.NewLine(pods)},
		fieldSteps:  {label: words.Text("step", "步骤"), help: words.Text("a step or a pattern, such as cri.*; Tab completes. With Delve also FUNCTION or FILE:LINE", "步骤或模式，例如 cri.*；按 Tab 补全。有 Delve 时也可写函数名或 文件:行号"), line: ask.NewLine(steps)},
		fieldOn:     {label: words.Text("on", "时机"), of: []text{words.Text("enter", "进入时"), words.Text("exit", "返回时"), words.Text("error", "出错时")}},
		fieldAction: {label: words.Text("action", "动作")},
		fieldValue:  {label: words.Text("with", "内容")},
		fieldIf:     {label: words.Text("if", "条件"), help: words.Text("log only then: a filter, such as slow>2s; at a place of the code an expression; empty: always", "只在此时记录：过滤条件，例如 slow>2s；在代码位置写表达式；空：总是")},
		fieldTimes:  {label: words.Text("times", "次数"), help: words.Text("how often, over all pods; 0: every time, a fault once", "对所有 Pod 共生效几次；0：每次都生效，故障只一次"), line: ask.NewLine(strconv.Itoa(agentpb.DefaultTimes))},
	}
	for i := range f.acts {
		f.fields[fieldAction].of = append(f.fields[fieldAction].of, f.acts[i].name)
	}
	if pods != "" {
		f.cursor = fieldSteps
	}
	if steps != "" {
		f.cursor = fieldCount
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

// move goes to the next field that is shown, or to the buttons.
func (f *breakForm) move(by int) {
	f.offers = nil
	for {
		f.cursor = max(0, min(f.cursor+by, fieldCount))
		if f.cursor == fieldCount || f.shows(f.cursor) {
			return
		}
	}
}

// shows reports whether a field is shown: only the one that the action makes use of.
func (f *breakForm) shows(i int) bool {
	switch i {
	case fieldValue:
		return f.act().value != (text{})
	case fieldIf:
		return f.act().filtered
	}
	return true
}

// shown returns the fields that are shown.
func (f *breakForm) shown() (out []int) {
	for i := range f.fields {
		if f.shows(i) {
			out = append(out, i)
		}
	}
	return out
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
	case fieldPods:
		for _, r := range f.m.pods() {
			if name := (probes.Pod{Namespace: r.Namespace, Name: r.Name}).NamespacedName(); strings.Contains(name, f.fields[fieldPods].line.String()) {
				out = append(out, name)
			}
		}
	case fieldValue:
		if f.act().completes != nil {
			return f.act().completes(f, f.fields[fieldValue].line.String())
		}
	case fieldIf:
		if !isPlace(strings.TrimSpace(f.fields[fieldSteps].line.String())) {
			return f.m.completeFilter(f.fields[fieldIf].line.String())
		}
	}
	return out
}

func (f *breakForm) Overlay(*view.Styles) *screen.Overlay {
	o := &screen.Overlay{
		Kind: screen.OverDialog, Title: f.m.text(words.Text("Breakpoint", "断点")),
		Buttons: []string{f.m.text(words.Text("Cancel", "取消")), f.m.text(words.Text("Add", "添加"))},
	}
	for _, i := range f.shown() {
		if i == f.cursor {
			o.Cursor = len(o.Items)
		}
		o.Items = append(o.Items, screen.Item{Text: f.m.text(f.fields[i].label) + ": " + f.words(i)})
	}
	if f.cursor == fieldCount {
		o.Cursor = len(o.Items) + f.button
	} else if in := &f.fields[f.cursor]; in.of == nil {
		o.Input = &screen.Input{Prompt: f.m.text(in.label), Text: in.line.String(), Cursor: in.line.Cursor(), Help: f.hint()}
	}
	if f.err != "" {
		o.Text = append(o.Text, f.err)
	}
	return o
}

// words returns what a field has.
func (f *breakForm) words(i int) string {
	in := &f.fields[i]
	value := in.line.String()
	switch {
	case in.of != nil && f.m.opts.ASCII:
		return "< " + f.m.text(in.of[in.at]) + " >"
	case in.of != nil:
		return "‹ " + f.m.text(in.of[in.at]) + " ›"
	case i == fieldTimes:
		return f.timesWords(value)
	}
	return value
}

// timesWords returns what a number of times means.
func (f *breakForm) timesWords(value string) string {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err != nil || n != 0 {
		return value
	}
	if f.act().fault {
		return value + f.m.text(words.Text(" (once)", "（一次）"))
	}
	return value + f.m.text(words.Text(" (every time, every pod)", "（每次，每个 Pod）"))
}

// hint says what to type: it lists completions, or gives an example.
func (f *breakForm) hint() string {
	offers := f.offers
	if offers == nil {
		offers = f.completions()
	}
	if len(offers) == 0 || f.fields[f.cursor].line.String() == "" {
		if f.cursor == fieldValue {
			return f.m.text(f.act().value)
		}
		return f.m.text(f.fields[f.cursor].help)
	}
	return ask.Offers(offers)
}
