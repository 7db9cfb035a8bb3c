package tui

import (
	"errors"
	"go/parser"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
)

// breakAction is one thing that a breakpoint can do.
type breakAction struct {
	name text
	// value says what to type into the field "with"; empty: the action has no such field.
	value text
	// filtered: the action has the field "if".
	filtered bool
	// holds and fault say what it does to pods. atPlaces: it can do that at a place of the kubelet's code, too. looks: a
	// read-only agent allows it.
	holds, fault, atPlaces, looks bool
	// completes offers values for a typed text; nil: it offers none.
	completes func(f *breakForm, typed string) []string
	// set puts the action into the request, or says what is wrong with the form.
	set func(f *breakForm, req *agentpb.AddBreakpointRequest) error
}

// allBreakActions returns all of them. The first one is chosen when the form opens.
func allBreakActions() []breakAction {
	return []breakAction{
		{name: words.Text("hold the pod", "停住 Pod"), holds: true, atPlaces: true, set: setHold},
		{name: words.Text("log values", "记录值"), filtered: true, atPlaces: true, looks: true, completes: completeLog, set: setLog,
			value: words.Text("names of values, such as image,took,err; at a place of the code expressions; empty: all", "值的名称，例如 image,took,err；在代码位置写表达式；空：全部")},
		{name: words.Text("keep the stack", "保存调用栈"), set: setSnapshot},
		{name: words.Text("fail with an error", "返回错误"), fault: true, set: setFail,
			value: words.Text("the error with which the step fails", "步骤返回的错误信息")},
		{name: words.Text("delay", "延迟"), fault: true, set: setDelay, value: words.Text("how long, such as 2s", "时长，例如 2s")},
	}
}

// breakActions returns those that the agent allows.
func (m *Model) breakActions() (out []breakAction) {
	for _, a := range allBreakActions() {
		if a.looks || !m.info.GetReadOnly() {
			out = append(out, a)
		}
	}
	return out
}

// act returns the action that is chosen.
func (f *breakForm) act() *breakAction { return &f.acts[f.fields[fieldAction].at] }

// value returns what is typed into the field "with".
func (f *breakForm) value() string { return strings.TrimSpace(f.fields[fieldValue].line.String()) }

func setHold(_ *breakForm, req *agentpb.AddBreakpointRequest) error {
	req.Action = &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}}
	return nil
}

func setSnapshot(_ *breakForm, req *agentpb.AddBreakpointRequest) error {
	req.Action = &agentpb.AddBreakpointRequest_Snapshot{Snapshot: &agentpb.SnapshotAction{}}
	return nil
}

func setFail(f *breakForm, req *agentpb.AddBreakpointRequest) error {
	if f.value() == "" {
		return errors.New(f.m.text(words.Text("give the error with which the step fails", "请输入要返回的错误信息")))
	}
	req.Action = &agentpb.AddBreakpointRequest_Fail{Fail: f.value()}
	return nil
}

func setDelay(f *breakForm, req *agentpb.AddBreakpointRequest) error {
	d, err := time.ParseDuration(f.value())
	if err != nil || d <= 0 {
		return errors.New(f.m.text(words.Text("give a duration, such as 2s", "请输入时长，例如 2s")))
	}
	req.Action = &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(d)}
	return nil
}

// setLog reads names of values and a filter, or at a place of the kubelet's code expressions.
func setLog(f *breakForm, req *agentpb.AddBreakpointRequest) (err error) {
	log := &agentpb.LogAction{Filter: strings.TrimSpace(f.fields[fieldIf].line.String())}
	for _, name := range strings.Split(f.value(), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if _, err := parser.ParseExpr(name); err != nil && req.At != "" {
			return errors.New(f.m.textf(words.Text("%q is no expression: %v", "%q 不是表达式：%v"), name, err))
		}
		log.Fields = append(log.Fields, name)
	}
	switch {
	case log.Filter == "":
	case req.At != "":
		_, err = parser.ParseExpr(log.Filter)
	default:
		_, err = filter.Parse(log.Filter)
	}
	if err != nil {
		return errors.New(f.m.textf(words.Text("if %q: %v", "条件 %q：%v"), log.Filter, err))
	}
	req.Action = &agentpb.AddBreakpointRequest_Log{Log: log}
	return nil
}

// completeLog offers the values that the steps of the form have, for the last of the names that are typed.
func completeLog(f *breakForm, typed string) (out []string) {
	before, last := "", typed
	if i := strings.LastIndex(typed, ","); i >= 0 {
		before, last = typed[:i+1], strings.TrimSpace(typed[i+1:])
	}
	seen := map[string]bool{}
	offer := func(name string) {
		if !seen[name] && len(out) < maxOffers && strings.HasPrefix(name, last) {
			seen[name] = true
			out = append(out, before+name)
		}
	}
	steps := strings.TrimSpace(f.fields[fieldSteps].line.String())
	c := f.m.catalogue()
	for i := range c.Steps {
		if ok, _ := path.Match(steps, c.Steps[i].Name); ok {
			for _, field := range slices.Concat(c.Steps[i].Fields, c.Steps[i].Results) {
				offer(field.Name)
			}
		}
	}
	if len(seen) > 0 || !isPlace(steps) {
		offer("took")
		offer("err")
	}
	return out
}
