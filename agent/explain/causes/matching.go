package causes

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// part is a part of a match.
type part struct {
	given bool
	// find gives the findings of a cause, one for each item that fits.
	find func(*Case, *Cause) []Finding
}

func partOf[P any](p *P, find func(*Case, *Cause, *P) []Finding) part {
	return part{p != nil, func(c *Case, cause *Cause) []Finding { return find(c, cause, p) }}
}

// parts returns all the parts that a match can have. A match has one of them.
func (m *Match) parts() []part {
	return []part{
		partOf(m.Waiting, (*Case).matchWaiting),
		partOf(m.Terminated, (*Case).matchTerminated),
		partOf(m.Condition, (*Case).matchCondition),
		partOf(m.Pod, (*Case).matchPod),
		partOf(m.Event, (*Case).matchEvent),
		partOf(m.Goroutine, (*Case).matchGoroutine),
		partOf(m.Log, (*Case).matchLog),
		partOf(m.Failed, (*Case).matchFailed),
		partOf(m.Open, (*Case).matchOpen),
		partOf(m.Unfit, (*Case).matchUnfit),
		partOf(m.Denied, (*Case).matchDenied),
	}
}

// match gives the findings of one match, one for each item that fits.
func (c *Case) match(cause *Cause, m *Match) []Finding {
	out := m.find(c, cause)
	for i := range out {
		out[i].Confidence = cmp.Or(m.Sure, out[i].Confidence)
	}
	return out
}

func (c *Case) matchWaiting(cause *Cause, m *Waiting) (out []Finding) {
	for _, k := range c.containers() {
		w := k.State.Waiting
		if w == nil || m.Container != "" && m.Container != k.kind || !m.Reason.has(w.Reason) || c.Age() < m.For {
			continue
		}
		args := c.containerArgs(k, w.Reason, w.Message)
		if !m.Message.in(w.Message, args) || !m.last(k.LastTerminationState.Terminated, args) {
			continue
		}
		since := c.Since
		if t := k.LastTerminationState.Terminated; t != nil {
			since = latest(since, t.FinishedAt.Time)
		}
		f := c.found(cause.ID, k.Name, args, Certain, since, c.waits(k))
		f.Next = c.nextTry(k)
		out = append(out, f)
	}
	return out
}

// last checks how a container ended before.
func (m *Waiting) last(t *corev1.ContainerStateTerminated, args Args) bool {
	if len(m.LastReason) == 0 && len(m.LastExit) == 0 && !m.LastMessage.given() {
		return true
	}
	return t != nil && m.LastReason.has(t.Reason) && (len(m.LastExit) == 0 || slices.Contains(m.LastExit, t.ExitCode)) && m.LastMessage.in(t.Message, args)
}

func (c *Case) containerArgs(k container, reason, message string) Args {
	if strings.HasPrefix(message, "back-off ") {
		message = c.failure(k, message)
	}
	args := Args{
		"container": k.Name, "image": c.imageNamed(message, k.Image), "reason": reason, "message": message,
		"restarts": strconv.Itoa(int(k.RestartCount)),
	}
	if t := k.LastTerminationState.Terminated; t != nil {
		args["exitCode"], args["lastReason"] = strconv.Itoa(int(t.ExitCode)), t.Reason
	}
	return args
}

// failure returns why a container could not be started that waits for its next try: what the runtime said of the last one,
// or what the kubelet's last event about it says; else what the kubelet says of the wait.
func (c *Case) failure(k container, wait string) string {
	if t := k.LastTerminationState.Terminated; neverRan(t) && t.Message != "" {
		return t.Message
	}
	if e := c.containerEvent("Failed", k.Name); e != nil && !strings.HasPrefix(e.Message, "Error: ImagePullBackOff") {
		return strings.TrimPrefix(e.Message, "Error: ")
	}
	return wait
}

func (c *Case) matchTerminated(cause *Cause, m *Terminated) (out []Finding) {
	for _, k := range c.containers() {
		t := k.State.Terminated
		if t == nil || m.Container != "" && m.Container != k.kind || !m.Reason.has(t.Reason) || len(m.Exit) > 0 && !slices.Contains(m.Exit, t.ExitCode) {
			continue
		}
		args := c.containerArgs(k, t.Reason, "")
		args["exitCode"], args["lastReason"] = strconv.Itoa(int(t.ExitCode)), t.Reason
		if !m.Message.in(t.Message, args) {
			continue
		}
		out = append(out, c.found(cause.ID, k.Name, args, Certain, t.FinishedAt.Time, c.status(words.With(words.Text("container %s terminated", "容器 %s 已结束"), k.Name), words.With(words.Text("%s, exit code %d", "%s，退出码 %d"), t.Reason, t.ExitCode), t.FinishedAt.Time)))
	}
	return out
}

func (c *Case) matchCondition(cause *Cause, m *Conditions) (out []Finding) {
	for _, k := range c.conditions(m.Node) {
		args := Args{"reason": k.Reason, "message": k.Message, "condition": k.Type}
		if k.Type != m.Type || m.Status != "" && k.Status != m.Status || !m.Reason.has(k.Reason) || !m.Message.in(k.Message, args) ||
			c.Now.Sub(k.Since) < m.For {
			continue
		}
		where := words.Same("condition " + k.Type)
		if m.Node {
			where = words.With(words.Text("condition %s of node %s", "节点 %[2]s 的 condition %[1]s"), k.Type, c.args["node"])
		}
		text := k.Status + " " + k.Reason
		if k.Message != "" {
			text += ": " + k.Message
		}
		out = append(out, c.found(cause.ID, "", args, Certain, k.Since, c.status(where, words.Same(text), k.Since)))
	}
	return out
}

// conditions returns those of the pod, or of its node.
func (c *Case) conditions(node bool) (out []evidence.Condition) {
	switch {
	case node && c.Cluster.Node != nil:
		for _, k := range c.Cluster.Node.Status.Conditions {
			out = append(out, evidence.Condition{Type: string(k.Type), Status: string(k.Status), Reason: k.Reason, Message: k.Message, Since: k.LastTransitionTime.Time})
		}
	case !node && c.Spec != nil:
		for _, k := range c.Spec.Status.Conditions {
			out = append(out, evidence.Condition{Type: string(k.Type), Status: string(k.Status), Reason: k.Reason, Message: k.Message, Since: k.LastTransitionTime.Time})
		}
	}
	return out
}

func (c *Case) matchPod(cause *Cause, m *PodStatus) []Finding {
	if c.Spec == nil || c.Spec.Status.Reason == "" && c.Spec.Status.Message == "" {
		return nil
	}
	st := &c.Spec.Status
	args := Args{"reason": st.Reason, "message": st.Message}
	if !m.Reason.has(st.Reason) || !m.Message.in(st.Message, args) {
		return nil
	}
	return []Finding{c.found(cause.ID, "", args, Certain, c.Since, c.status(inStatus, words.Same(st.Reason+": "+st.Message), c.Since))}
}

const (
	freshEvent = 10 * time.Minute
	freshLine  = 5 * time.Minute
	// slack is by how much the clocks of machines may differ. An event may also seem older than
	// it is by up to a second, since the API server keeps whole seconds.
	slack = 2 * time.Second
)

func (c *Case) matchEvent(cause *Cause, m *EventMatch) (out []Finding) {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Kind != cmp.Or(m.Of, "Pod") || !m.Reason.has(e.Reason) || c.tries(e, m) < m.Count || !c.counts(e, m) || c.endedBy(e, m.Until) {
			continue
		}
		args := c.imageArgs(containerOfPath(e.FieldPath))
		args["reason"], args["message"], args["object"] = e.Reason, e.Message, e.Name
		args["image"] = c.imageNamed(e.Message, args["image"])
		if !m.Message.in(e.Message, args) || m.Not.given() && m.Not.in(e.Message, args) {
			continue
		}
		f := c.found(cause.ID, cmp.Or(containerOfPath(e.FieldPath), args["subject"]), args, Likely, e.First, c.event(e))
		if m.Again == againVolume {
			f.Next = c.nextOperation(e)
		}
		out = append(out, f)
		break
	}
	return out
}

// imageArgs returns the arguments of a container that is known by its name alone.
func (c *Case) imageArgs(name string) Args {
	args := Args{}
	if name != "" {
		args["container"] = name
	} else if c.Spec != nil && len(c.Spec.Spec.Containers) == 1 && len(c.Spec.Spec.InitContainers) == 0 {
		name = c.Spec.Spec.Containers[0].Name
		args["container"] = name
	}
	if k := c.specOf(name); k != nil {
		args["image"] = k.Image
	}
	return args
}

// counts reports whether an event still says something about the pod's present phase.
func (c *Case) counts(e *evidence.Event, m *EventMatch) bool {
	if c.Now.Sub(e.Last) > cmp.Or(m.Fresh, freshEvent) || m.Again == againVolume && c.operationOver(e) {
		return false
	}
	if e.Kind == "Pod" && !c.ofPod(e) {
		return false
	}
	return m.Any || !e.Last.Before(c.Since.Add(-slack))
}

// endedBy reports whether a later event of one of these reasons ended what an event reports.
func (c *Case) endedBy(e *evidence.Event, reasons Strings) bool {
	return len(reasons) > 0 && slices.ContainsFunc(c.Cluster.Events, func(o evidence.Event) bool {
		return reasons.has(o.Reason) && o.Kind == e.Kind && o.Name == e.Name && o.UID == e.UID && o.FieldPath == e.FieldPath && !o.Last.Before(e.Last)
	})
}

// containerOfPath returns the container that an event's fieldPath names, such as
// spec.containers{app}.
func containerOfPath(fieldPath string) string {
	i := slices.Index([]byte(fieldPath), '{')
	if i < 0 || fieldPath[len(fieldPath)-1] != '}' {
		return ""
	}
	return fieldPath[i+1 : len(fieldPath)-1]
}

func (c *Case) matchGoroutine(cause *Cause, m *Stack) (out []Finding) {
	if c.Kubelet == nil {
		return nil
	}
	for i := range c.Kubelet.Goroutines {
		g := &c.Kubelet.Goroutines[i]
		sure := Certain
		switch {
		case m.Node:
		case g.Pod == "" && c.mayBeIts(g):
			sure = Possible
		case g.Pod == "", g.Pod != c.args["uid"]:
			continue
		}
		if g.Waits < m.For || !m.fits(g) {
			continue
		}
		text := words.With(words.Text("%s for %s in %s", "%s 已 %s，在 %s 中"), g.State, words.Took(g.Waits), m.innermost(g))
		args := c.imageArgs("")
		args["waits"] = words.Took(g.Waits)
		f := c.found(cause.ID, "", args, sure, c.Now.Add(-g.Waits), Evidence{Source: evidence.Port, Where: words.Same("goroutine " + strconv.FormatInt(g.ID, 10)), Text: text})
		out = append(out, f)
	}
	return out
}

// mayBeIts reports whether a goroutine of an unknown pod may be this one's: it has waited for a
// minute at least, and not for longer than the pod has been in its phase.
func (c *Case) mayBeIts(g *evidence.Goroutine) bool {
	return g.Waits >= time.Minute && g.Waits <= c.Age()+time.Minute
}

// fits reports whether a goroutine's stack is as the match wants it.
func (m *Stack) fits(g *evidence.Goroutine) bool {
	at := slices.IndexFunc(g.Frames, func(f string) bool { return m.Func.in(f, Args{}) })
	if at < 0 || m.Not.given() && slices.ContainsFunc(g.Frames, func(f string) bool { return m.Not.in(f, Args{}) }) {
		return false
	}
	return !m.Also.given() || slices.ContainsFunc(g.Frames[at:], func(f string) bool { return m.Also.in(f, Args{}) })
}

func (m *Stack) innermost(g *evidence.Goroutine) string {
	for _, f := range g.Frames {
		if m.Func.in(f, Args{}) {
			return path.Base(f)
		}
	}
	return ""
}

func (c *Case) matchLog(cause *Cause, m *LogLine) (out []Finding) {
	if c.Machine == nil {
		return nil
	}
	for i := len(c.Machine.Lines) - 1; i >= 0; i-- {
		l := &c.Machine.Lines[i]
		if !m.Node && !c.named(l) || c.Now.Sub(l.At) > cmp.Or(m.Fresh, freshLine) || l.At.Before(c.Since.Add(-slack)) {
			continue
		}
		args := c.imageArgs("")
		args["message"], args["error"] = l.Message, l.Error
		if !m.Message.in(l.Message, args) || !m.Error.in(l.Error, args) {
			continue
		}
		text := l.Message
		if l.Error != "" {
			text += ": " + l.Error
		}
		return []Finding{c.found(cause.ID, args["subject"], args, Likely, l.At, Evidence{Source: evidence.Log, Where: words.Same(l.Where), Text: words.Same(text), At: l.At})}
	}
	return nil
}

// named reports whether a log line names the pod: in its fields, or in its text, as lines about
// volume operations do.
func (c *Case) named(l *evidence.Line) bool {
	uid := c.args["uid"]
	if l.UID == "" && l.Pod == "" {
		return uid != "" && (strings.Contains(l.Message, uid) || strings.Contains(l.Error, uid))
	}
	return l.UID != "" && l.UID == uid || l.UID == "" && l.Pod == c.Name.String()
}

func (c *Case) matchFailed(cause *Cause, m *Step) (out []Finding) {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Failed {
		k := &c.Story.Failed[i]
		if !m.named(k) {
			continue
		}
		args := c.callArgs(k)
		if !m.Error.in(k.Error, args) || m.Not.given() && m.Not.in(k.Error, args) || !m.has(k, args) {
			continue
		}
		f := c.found(cause.ID, cmp.Or(c.containerOf(k), args["subject"]), args, Certain, k.Began, c.call(k))
		f.Next = c.Story.Next
		out = append(out, f)
	}
	return out
}

func (c *Case) matchOpen(cause *Cause, m *Step) (out []Finding) {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Open {
		k := &c.Story.Open[i]
		if !m.named(k) || c.Now.Sub(k.Began) < m.For || m.Innermost && i < len(c.Story.Open)-1 || !c.inside(m.Inside, i) {
			continue
		}
		args := c.callArgs(k)
		if !m.has(k, args) {
			continue
		}
		args["took"] = words.Took(c.Now.Sub(k.Began))
		out = append(out, c.found(cause.ID, c.containerOf(k), args, Certain, k.Began, c.call(k)))
	}
	return out
}

// inside reports whether a call around the one at i is a call of one of the steps.
func (c *Case) inside(steps Strings, i int) bool {
	return len(steps) == 0 || slices.ContainsFunc(c.Story.Open[:i], func(k evidence.Call) bool {
		return (&Step{Step: steps}).named(&k)
	})
}

func (c *Case) callArgs(k *evidence.Call) Args {
	args := c.imageArgs(c.containerOf(k))
	args["step"], args["error"], args["message"] = cmp.Or(k.Title, k.Step), k.Error, k.Error
	for _, name := range []string{"container", "image", "volume", "reason"} {
		if v := k.Fields[name]; v != "" {
			args[name] = v
		}
	}
	if k.Fields["plugin"] == csiPlugin {
		args["csiDriver"] = c.csiDriver(k.Fields["volume"], k.Fields["uniqueName"])
	}
	return args
}

// named reports whether a call is of one of the steps.
func (m *Step) named(k *evidence.Call) bool {
	return len(m.Step) == 0 || slices.ContainsFunc(m.Step, func(glob string) bool {
		ok, _ := path.Match(glob, k.Step)
		return ok
	})
}

// has reports whether a call's fields are as wanted.
func (m *Step) has(k *evidence.Call, args Args) bool {
	for name, e := range m.Fields {
		if !e.in(k.Fields[name], args) {
			return false
		}
	}
	return true
}
