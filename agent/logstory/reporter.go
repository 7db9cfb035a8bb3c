package logstory

import (
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/klog"
)

// Call is a call of a step that a log shows.
type Call struct {
	Step *probes.Step
	Pod  probes.PodRef
	// Parent is the call in which it happens; nil: in none, or the log does not show in which.
	Parent *Call
	// State is for the sink.
	State any

	pod   *pod
	began time.Time
	which string
	err   string // of a turn, whose error has a line before that of its end
}

// sink takes the calls of a story. A call of which the log has only the end gets no begin.
type sink interface {
	begin(c *Call, at time.Time, fields []wire.Field)
	end(c *Call, at time.Time, results []wire.Field, err string, took time.Duration)
}

// reporter finds the calls that entries show.
type reporter struct {
	rules  *rules
	survey *survey
	pods   *pods
	sink   sink

	pulls     pulls
	exitCodes map[string]int64 // of containers, by id
}

func newReporter(s *survey, to sink) *reporter {
	return &reporter{rules: theRules(), survey: s, pods: newPods(s), sink: to, pulls: pulls{}, exitCodes: map[string]int64{}}
}

// Messages of the kubelet that say more than their step.
const (
	lineAdd       = "SyncLoop ADD"
	lineReceiving = "Receiving a new pod"
	linePLEG      = "SyncLoop (PLEG): event for pod"
	lineFinished  = "Generic (PLEG): container finished"
)

// add makes the events of an entry.
func (t *reporter) add(e *entry) {
	if e.runtime {
		if c, ok := readCRI(e.text); ok {
			t.addCRI(&c, e.at)
		}
		return
	}
	rules := t.rules.of(e)
	if len(rules) == 0 && !strings.Contains(e.text, lineFinished) {
		return
	}
	k, ok := klog.Parse(e.text, e.at)
	if !ok {
		return
	}
	if k.Message == lineFinished {
		t.learnExit(&k)
	}
	for _, r := range rules {
		f, ok := r.read(&k)
		if !ok {
			continue
		}
		isNew := r.Message == lineAdd || r.Message == lineReceiving
		for _, p := range t.pods.of(&f, k.Text("pods"), e.at, isNew) {
			p.seen = e.at
			t.apply(r, p, &f, e.at)
			t.learn(r, p, &f, &k, e.at)
		}
	}
}

// apply makes the events of a line about a pod.
func (t *reporter) apply(r *rule, p *pod, f *found, at time.Time) {
	switch r.At {
	case probes.LogEnter:
		if r.end < 0 || r.end > t.survey.verbosity {
			t.note(r.step, p, f, at)
			return
		}
		t.begin(r.step, p, f, at)
	case probes.LogNote:
		t.note(r.step, p, f, at)
	case probes.LogExit, probes.LogFailed:
		t.finish(r, p, f, at)
	}
}

// learn takes what a line says besides its step.
func (t *reporter) learn(r *rule, p *pod, f *found, k *klog.Entry, at time.Time) {
	switch r.step.Story.Role {
	case probes.RoleSandbox, probes.RoleKill:
		t.pods.learn(f.values["containerID"], p)
	case probes.RoleTurn:
		if r.At == probes.LogFailed {
			t.showFailures(p, f.err, at)
		}
	case probes.RoleEvent:
		if image, ok := pulling(f.values["message"]); ok && f.values["reason"] == "Pulling" {
			t.pulls.learn(t, image, p)
		}
	}
	if r.Message == linePLEG {
		t.showPLEG(p, k, at)
	}
	t.pods.learn(f.values["podSandboxID"], p)
	if status := k.Text("status"); status != "" && r.At == probes.LogNote && strings.HasPrefix(status, "{") {
		t.addStatus(p, status, at)
	}
}

// pulling returns the image of the kubelet's event that it pulls one.
func pulling(message string) (image string, ok bool) {
	rest, ok := strings.CutPrefix(message, `Pulling image "`)
	image, _, whole := strings.Cut(rest, `"`)
	return image, ok && whole
}

// begin opens a call.
func (t *reporter) begin(s *probes.Step, p *pod, f *found, at time.Time) {
	if s.Story.Role == probes.RoleTurn {
		t.abandon(p, at) // the end of the turn before is not in the log
		p.turns++
	}
	c := t.newCall(s, p, at)
	c.which = f.which
	p.open = append(p.open, c)
	t.sink.begin(c, at, t.fields(s.Fields, f))
}

// onWorker reports whether a step happens on the goroutine of its pod's worker, or because of it.
func onWorker(s *probes.Step) bool { return s.Goroutine == "worker" || s.Goroutine == "kill" }

// newCall makes a call of a step.
func (t *reporter) newCall(s *probes.Step, p *pod, at time.Time) *Call {
	return &Call{Step: s, Pod: p.ref(), Parent: t.around(s, p), pod: p, began: at}
}

// around returns the call on the worker's goroutine in which a call of a step happens.
func (t *reporter) around(s *probes.Step, p *pod) *Call {
	if !onWorker(s) {
		return nil
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		o := p.open[i].Step
		if onWorker(o) && (o.Goroutine != "kill" || s.Goroutine == "kill") && o != s {
			return p.open[i]
		}
	}
	return nil
}

// note makes a call of which only one moment is known.
func (t *reporter) note(s *probes.Step, p *pod, f *found, at time.Time) {
	if s.Report() {
		t.report(s, p, t.fields(s.Fields, f), at)
		return
	}
	c := t.newCall(s, p, at)
	t.sink.begin(c, at, t.fields(s.Fields, f))
	t.sink.end(c, at, append(t.fields(s.Results, f), wire.Flag(probes.FieldEndUnseen, true)), "", 0)
}

// report makes a report: a call without a duration.
func (t *reporter) report(s *probes.Step, p *pod, fields []wire.Field, at time.Time) {
	c := &Call{Step: s, Pod: p.ref(), pod: p, began: at}
	t.sink.begin(c, at, fields)
	t.sink.end(c, at, nil, "", 0)
}

// finish ends the call that a line is about. If its beginning is not in the log, only its end is told.
func (t *reporter) finish(r *rule, p *pod, f *found, at time.Time) {
	err := ""
	if r.At == probes.LogFailed {
		err = f.err
	}
	if i := t.find(p, r.step, f.which); i >= 0 && r.step.Story.Role == probes.RoleTurn && r.At == probes.LogFailed {
		p.open[i].err = err
		return
	}
	t.finishStep(r.step, p, f.which, at, t.fields(r.step.Results, f), err)
}

func (t *reporter) finishStep(s *probes.Step, p *pod, which string, at time.Time, results []wire.Field, err string) {
	i := t.find(p, s, which)
	if i < 0 {
		t.sink.end(t.newCall(s, p, at), at, results, shown(err), 0)
		return
	}
	c := p.open[i]
	if err == "" {
		err = c.err
	}
	t.endInside(p, c, at)
	p.open = slices.DeleteFunc(p.open, func(o *Call) bool { return o == c })
	t.sink.end(c, at, results, shown(err), at.Sub(c.began))
}

// find returns the place of the pod's call of a step that goes on, the innermost first; which is empty: any of them.
// -1: there is none.
func (t *reporter) find(p *pod, s *probes.Step, which string) int {
	for i := len(p.open) - 1; i >= 0; i-- {
		if c := p.open[i]; c.Step == s && (which == "" || c.which == "" || c.which == which) {
			return i
		}
	}
	return -1
}

// endInside ends the calls inside of a call that has ended: the log does not show how.
func (t *reporter) endInside(p *pod, outer *Call, at time.Time) {
	for i := len(p.open) - 1; i >= 0; i-- {
		if c := p.open[i]; c.Parent == outer {
			t.endInside(p, c, at)
			p.open = slices.DeleteFunc(p.open, func(o *Call) bool { return o == c })
			t.endUnseen(c, at)
			i = min(i, len(p.open))
		}
	}
}

// abandon ends the calls of a pod's worker.
func (t *reporter) abandon(p *pod, at time.Time) {
	for i := len(p.open) - 1; i >= 0; i-- {
		if c := p.open[i]; onWorker(c.Step) {
			t.endUnseen(c, at)
		}
	}
	p.open = slices.DeleteFunc(p.open, func(c *Call) bool { return onWorker(c.Step) })
}

func (t *reporter) endUnseen(c *Call, at time.Time) {
	t.sink.end(c, at, []wire.Field{wire.Flag(probes.FieldEndUnseen, true)}, "", 0)
}

// fields returns the values of a line in the order of the catalogue.
func (t *reporter) fields(of []probes.Field, f *found) (out []wire.Field) {
	for _, field := range of {
		if v, has := f.values[field.Name]; has {
			out = append(out, fieldOf(field.Name, v))
		}
		if n, has := f.numbers[field.Name]; has {
			out = append(out, wire.Number(field.Name, n))
		}
	}
	return out
}

// maxText bounds a text of an event, in bytes.
const maxText = 4 << 10

// fieldOf makes a field of a text: a flag, a list or object, or a text.
func fieldOf(name, text string) wire.Field {
	switch text {
	case "true", "false":
		return wire.Flag(name, text == "true")
	}
	return wire.Text(name, shown(text))
}

// shown returns a text as it may leave.
func shown(text string) string {
	text = strings.ToValidUTF8(redact.Logged(text), "?")
	if len(text) > maxText {
		text = strings.ToValidUTF8(redact.Begin(text[:maxText]), "")
	}
	return text
}
