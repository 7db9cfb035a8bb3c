package logstory

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/wire"
)

// status is what is read of a pod's status, as the kubelet logs it once the API server has it. Nothing else of it is
// decoded.
type status struct {
	Phase, Reason, Message string
	Conditions             []struct{ Type, Status, Reason, Message string }
	InitContainerStatuses  []containerStatus
	ContainerStatuses      []containerStatus
}

type containerStatus struct {
	Name         string
	Ready        bool
	RestartCount int64
	State        containerState
	LastState    containerState
}

type containerState struct {
	Waiting    *waiting
	Running    *running
	Terminated *terminated
}

type waiting struct{ Reason, Message string }

type running struct{ StartedAt time.Time }

type terminated struct {
	ExitCode        int64
	Reason, Message string
	FinishedAt      time.Time
}

// The steps that report a pod's status.
const (
	stepPhase     = "reported.phase"
	stepCondition = "reported.condition"
	stepContainer = "reported.container"
)

// addStatus makes reports of what has changed in a pod's status.
func (t *reporter) addStatus(p *pod, text string, at time.Time) {
	var s status
	if json.Unmarshal([]byte(text), &s) != nil {
		return
	}
	t.change(p, stepPhase, "", at, textField("phase", s.Phase), textField("reason", s.Reason), textField("message", s.Message))
	for _, c := range s.Conditions {
		t.change(p, stepCondition, c.Type, at, textField("type", c.Type), textField("status", c.Status), textField("reason", c.Reason), textField("message", c.Message))
	}
	for i, all := range [][]containerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range all {
			t.change(p, stepContainer, c.Name, at, c.fields(i == 0)...)
		}
	}
}

// fields returns the fields of the step reported.container.
func (c *containerStatus) fields(init bool) []wire.Field {
	out := []wire.Field{textField("container", c.Name)}
	switch {
	case c.State.Waiting != nil:
		out = append(out, textField("state", "waiting"), textField("reason", c.State.Waiting.Reason), textField("message", c.State.Waiting.Message))
	case c.State.Running != nil:
		out = append(out, textField("state", "running"), sinceField(c.State.Running.StartedAt))
	case c.State.Terminated != nil:
		out = append(out, textField("state", "terminated"), textField("reason", c.State.Terminated.Reason), textField("message", c.State.Terminated.Message),
			wire.Number("exitCode", c.State.Terminated.ExitCode), sinceField(c.State.Terminated.FinishedAt))
	}
	out = append(out, wire.Number("restartCount", c.RestartCount), wire.Flag("ready", c.Ready))
	if last := c.LastState.Terminated; last != nil {
		out = append(out, textField("lastReason", last.Reason), wire.Number("lastExitCode", last.ExitCode))
	}
	if init {
		out = append(out, wire.Flag("init", true))
	}
	return out
}

func textField(name, text string) wire.Field { return wire.Text(name, shown(text)) }

// sinceField makes the field of when a state began. The zero time makes an empty text.
func sinceField(at time.Time) wire.Field {
	text := ""
	if !at.IsZero() {
		text = at.UTC().Format(time.RFC3339)
	}
	return wire.Text("since", text)
}

// change makes a report if it differs from the last one about the same thing. Fields without a text are left out.
func (t *reporter) change(p *pod, step, about string, at time.Time, fields ...wire.Field) {
	given := fields[:0]
	for _, f := range fields {
		if f.Kind != wire.TextValue || f.Text != "" {
			given = append(given, f)
		}
	}
	if len(given) == 0 {
		return
	}
	key, now := step+" "+about, fmt.Sprint(given)
	if p.reported[key] == now {
		return
	}
	if p.reported == nil {
		p.reported = map[string]string{}
	}
	p.reported[key] = now
	t.report(t.rules.reports[step], p, given, at)
}
