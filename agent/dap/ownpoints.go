package dap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-dap"
)

// Breakpoints at steps that do not come by setFunctionBreakpoints, which some editors do not have: from the
// configuration, and from the console.
const (
	groupConfigured = "configuration"
	groupConsole    = "console"
)

// stepPoint is a breakpoint of a configuration: the name of a step, or an object.
type stepPoint struct {
	Step         string `json:"step"`
	Condition    string `json:"condition"`
	HitCondition string `json:"hitCondition"`
	LogMessage   string `json:"logMessage"`
}

// UnmarshalJSON reads either form.
func (p *stepPoint) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &p.Step) == nil {
		return nil
	}
	type plain stepPoint
	if err := json.Unmarshal(text, (*plain)(p)); err != nil || p.Step == "" {
		return errors.New(`a breakpoint is the name of a step, or an object with "step", and perhaps "condition", "hitCondition" and "logMessage"`)
	}
	return nil
}

// pointAt returns the breakpoint of the session.
func (s *session) pointAt(b stepPoint) *point {
	p := &point{key: strings.Join([]string{b.Step, b.Condition, b.HitCondition, b.LogMessage}, "\x00"), patterns: []string{b.Step}, reason: "function breakpoint", log: b.LogMessage}
	s.read(p, b.Condition, b.HitCondition)
	return p
}

// setConfigured sets the breakpoints of the configuration, and reports those that cannot act.
func (s *session) setConfigured(all []stepPoint) {
	var wanted []*point
	for _, b := range all {
		wanted = append(wanted, s.pointAt(b))
	}
	for i, b := range s.set(groupConfigured, wanted) {
		if !b.Verified {
			s.output(important, "the breakpoint at %s does nothing: %s", all[i].Step, b.Message)
		}
	}
}

// evaluateBreak sets a breakpoint at a step, as a person asks for it at the console, or lists all breakpoints.
func (s *session) evaluateBreak(r *dap.EvaluateRequest, rest string) error {
	if r.Arguments.Context != repl {
		return fmt.Errorf("break is for the console")
	}
	if rest == "" {
		s.result(r, 0, node{value: s.listPoints()})
		return nil
	}
	step, condition, _ := strings.Cut(rest, " ")
	p := s.pointAt(stepPoint{Step: step, Condition: strings.TrimSpace(condition)})
	s.set(groupConsole, append(s.target.points().without(groupConsole, p.key), p))
	if !p.verified {
		s.set(groupConsole, s.target.points().without(groupConsole, p.key))
		return fmt.Errorf("%s", p.message)
	}
	text := "breakpoint at " + step
	if p.message != "" {
		text += "; " + p.message
	}
	s.result(r, 0, node{value: lines(text)})
	return nil
}

// evaluateClear removes the breakpoints of the console and of the configuration at a step, or all of them.
func (s *session) evaluateClear(r *dap.EvaluateRequest, step string) error {
	if r.Arguments.Context != repl {
		return fmt.Errorf("clear is for the console")
	}
	removed := 0
	for _, group := range []string{groupConsole, groupConfigured} {
		var kept []*point
		for _, p := range s.target.points().groups[group] {
			if step != "" && p.patterns[0] != step {
				kept = append(kept, p)
			}
		}
		removed += len(s.target.points().groups[group]) - len(kept)
		s.set(group, kept)
	}
	if removed == 0 {
		return fmt.Errorf("there is no such breakpoint; break lists them; the editor removes its own")
	}
	s.result(r, 0, node{value: "removed " + itoa(removed)})
	return nil
}

// without returns the breakpoints of a group but those with a key.
func (ps *points) without(group, key string) (out []*point) {
	for _, p := range ps.groups[group] {
		if p.key != key {
			out = append(out, p)
		}
	}
	return out
}

// listPoints lists the breakpoints, one a line.
func (s *session) listPoints() string {
	var out []string
	for _, p := range s.target.points().all() {
		text := strings.Join(p.patterns, ", ")
		if p.data != nil {
			text = p.data.field + " of " + s.target.story().name(p.data.place)
		}
		if !p.rule.filter.Empty() {
			text += " " + p.rule.filter.String()
		}
		if !p.verified {
			text += " (does nothing: " + p.message + ")"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "there is no breakpoint; break STEP [CONDITION] sets one"
	}
	return lines(strings.Join(out, "\n"))
}
