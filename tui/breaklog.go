package tui

import (
	"errors"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// logs reports whether the form is for a log.
func (f *breakForm) logs() bool { return f.fields[fieldAction].at == actLog }

// steps returns the steps, or the place of the code, that the person has typed.
func (f *breakForm) steps() string { return strings.TrimSpace(f.fields[fieldSteps].line.String()) }

func (f *breakForm) atPlace() bool { return isPlace(f.steps()) }

// shown returns the fields that the present action has. Only a log has a condition.
func (f *breakForm) shown() (out []int) {
	for i := range f.fields {
		if i != fieldIf || f.logs() {
			out = append(out, i)
		}
	}
	return out
}

// checkRights refuses what a read-only agent does for nobody: all but a log at a step.
func (f *breakForm) checkRights() error {
	switch {
	case !f.m.info.GetReadOnly():
		return nil
	case !f.logs():
		return errors.New(f.m.text(words.Text("the agent is read-only: it holds no pod and makes no step fail. Choose the action \"log values\"", "代理是只读的：它不会停住 Pod，也不会让步骤失败。请选择动作“记录值”")))
	case f.atPlace():
		return errors.New(f.m.text(words.Text("the agent is read-only: it logs values at steps, not at lines of the code, where the pod has to stand", "代理是只读的：只能在步骤处记录值，不能在代码行处记录，因为那里 Pod 必须停一下")))
	}
	return nil
}

// setLog makes the action log out of the names of values and of the condition.
func (f *breakForm) setLog(req *agentpb.AddBreakpointRequest, names string) error {
	log, err := agentpb.ParseLog(names, strings.TrimSpace(f.fields[fieldIf].line.String()), f.atPlace())
	var wrong *agentpb.LogError
	switch {
	case errors.As(err, &wrong) && wrong.Expression == "":
		return errors.New(f.m.textf(words.Text("the condition: %v", "条件：%v"), wrong.Err))
	case errors.As(err, &wrong):
		return errors.New(f.m.textf(words.Text("%q is no expression: %v", "%q 不是表达式：%v"), wrong.Expression, wrong.Err))
	case err != nil:
		return err
	}
	if !f.atPlace() {
		if err := f.checkValues(log.Fields); err != nil {
			return err
		}
	}
	req.Action = &agentpb.AddBreakpointRequest_Log{Log: log}
	return nil
}

// checkValues returns an error if the typed steps do not have one of some values, or not yet.
func (f *breakForm) checkValues(wanted []string) error {
	known, late := f.stepValues()
	for _, name := range wanted {
		switch {
		case !slices.Contains(known, name):
			return errors.New(f.m.textf(words.Text("%s has no value %q; Tab completes", "%s 没有值 %q；按 Tab 补全"), f.steps(), name))
		case late[name] && agentpb.On(f.fields[fieldOn].at) == agentpb.On_ON_ENTER:
			return errors.New(f.m.textf(words.Text("%q is known only when the step returns: choose \"exit\" or \"error\"", "%q 在步骤返回时才有：请选择“返回时”或“出错时”"), name))
		}
	}
	return nil
}

// stepValues returns the names of the values that the typed steps have, and which of them are there only at an exit.
func (f *breakForm) stepValues() (names []string, late map[string]bool) {
	late = map[string]bool{"err": true, "took": true}
	early := map[string]bool{}
	add := func(all []probes.Field, of map[string]bool) {
		for _, v := range all {
			of[v.Name] = true
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	for i := range f.m.catalogue().Steps {
		if s := &f.m.catalogue().Steps[i]; globMatches(f.steps(), s.Name) {
			add(s.Fields, early)
			add(s.Results, late)
		}
	}
	for name := range early {
		delete(late, name)
	}
	for _, name := range []string{"err", "took"} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, late
}

func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// valuesLike completes the last of the names that are typed. It offers no name twice.
func (f *breakForm) valuesLike(typed string) (out []string) {
	if !f.logs() || f.atPlace() {
		return nil
	}
	at := strings.LastIndexByte(typed, ',') + 1
	before, last := typed[:at], strings.TrimSpace(typed[at:])
	used := strings.Split(strings.ReplaceAll(before, " ", ""), ",")
	names, _ := f.stepValues()
	for _, name := range names {
		if strings.HasPrefix(name, last) && !slices.Contains(used, name) && len(out) < maxOffers {
			out = append(out, before+name)
		}
	}
	return out
}

// logHelp says what to type in the fields of a log; empty in another field.
func (f *breakForm) logHelp() string {
	switch {
	case !f.logs():
	case f.cursor == fieldValue && f.atPlace():
		return f.m.text(words.Text("expressions, such as attempt,len(pod.Spec.Containers); empty: all arguments and variables", "表达式，例如 attempt,len(pod.Spec.Containers)；留空：所有参数与变量"))
	case f.cursor == fieldValue:
		names, _ := f.stepValues()
		return f.m.textf(words.Text("empty: all values; or of %s", "留空：所有值；或其中：%s"), strings.Join(names, ","))
	case f.cursor == fieldIf && f.atPlace():
		return f.m.text(words.Text("an expression, such as attempt != 0; empty: always", "表达式，例如 attempt != 0；留空：总是"))
	case f.cursor == fieldIf:
		return f.m.text(words.Text("empty: always; or a filter, such as slow>2s, err, field.image=busybox", "留空：总是；或过滤条件，例如 slow>2s、err、field.image=busybox"))
	}
	return ""
}

// offNoLogs returns why no log can be set. A read-only agent takes logs.
func offNoLogs(m *Model) text {
	switch why := offNoAgent(m); {
	case why != (text{}):
		return why
	case !m.info.GetLogs():
		return words.Text("the agent is older than this podstep and logs no values", "代理比这个 podstep 旧，不能记录值")
	}
	return text{}
}

// offNoBreaks returns why no breakpoint can be set or removed. A read-only agent takes logs only.
func offNoBreaks(m *Model) text {
	if why := offNoHolds(m); why == (text{}) {
		return why
	}
	return offNoLogs(m)
}

// askLog opens the form for a log: at the selected step or, in the detail, at the line of its source if a debugger can
// look there.
func (m *Model) askLog() tea.Cmd {
	at := m.state.SelectedStep()
	switch s := m.screen(); {
	case s.Focus == screen.PaneDetail && s.Detail != nil && s.Detail.Mark >= 0 && m.looksInside():
		at = s.Detail.Place
	case s.Focus == screen.PanePods:
		at = ""
	}
	m.pushLog(at)
	return nil
}

// pushLog opens the form for a log of the selected pod at steps or at a place of the code.
func (m *Model) pushLog(at string) {
	f := newBreakForm(m, m.selectedName(), at)
	f.fields[fieldAction].at = actLog
	f.cursor = fieldSteps
	if at != "" {
		f.cursor = fieldValue
	}
	m.push(f)
}

// looksInside reports whether a probe of the agent can look at places of the code that are no steps.
func (m *Model) looksInside() bool {
	return slices.ContainsFunc(m.info.GetProbes(), func(p *agentpb.Probe) bool {
		return p.GetName() == "delve" && p.GetState() == agentpb.ProbeState_PROBE_RUNNING
	})
}
