package logstory

import (
	"regexp"
	"strconv"
	"time"

	"github.com/podstep/podstep/probes/klog"
)

// Below the verbosity at which the kubelet logs a pod's status, other lines show the states of its containers: the
// error of a turn has the reason for which the kubelet does not start one, and PLEG's events that one has been
// started, or has ended.

// failedStart matches what the kubelet says of a container that it could not start.
var failedStart = regexp.MustCompile(`failed to "StartContainer" for "([^"]*)" with (\w+): ("(?:[^"\\]|\\.)*")`)

// showFailures reports the containers that an error of a turn is about.
func (t *reporter) showFailures(p *pod, err string, at time.Time) {
	if t.survey.verbosity >= reportsFrom {
		return
	}
	for _, m := range failedStart.FindAllStringSubmatch(err, -1) {
		message, _ := strconv.Unquote(m[3])
		c := containerStatus{Name: m[1], RestartCount: p.restarts(m[1])}
		c.State.Waiting = &waiting{m[2], message}
		if last := p.exits[m[1]]; last != nil {
			c.LastState.Terminated = last
		}
		t.change(p, stepContainer, m[1], at, c.fields(false)...)
	}
}

// showPLEG reports the container that an event of PLEG is about, if the runtime's log has its name.
func (t *reporter) showPLEG(p *pod, k *klog.Entry, at time.Time) {
	e, ok := readPLEGEvent(k.Text("event"))
	if !ok || t.survey.verbosity >= reportsFrom {
		return
	}
	name := p.containers[e.Data]
	if name == "" {
		return
	}
	c := containerStatus{Name: name, RestartCount: p.restarts(name)}
	switch e.Type {
	case "ContainerStarted":
		c.State.Running = &running{at}
	case "ContainerDied":
		code, known := t.exitCodes[e.Data]
		if !known {
			return
		}
		c.State.Terminated = &terminated{ExitCode: code, FinishedAt: at}
		p.exits[name] = c.State.Terminated
		delete(t.exitCodes, e.Data)
	default:
		return
	}
	t.change(p, stepContainer, name, at, c.fields(false)...)
}

// learnExit notes the exit code of a container, which the kubelet logs before PLEG's event.
func (t *reporter) learnExit(k *klog.Entry) {
	code, err := strconv.ParseInt(k.Text("exitCode"), 10, 32)
	if id := k.Text("containerID"); err == nil && id != "" && len(t.exitCodes) < maxIDs {
		t.exitCodes[id] = code
	}
}

// learnContainer notes the name of a container that the runtime has made.
func (p *pod) learnContainer(id, name string, attempt int) {
	if p.containers == nil {
		p.containers, p.attempts, p.exits = map[string]string{}, map[string]int{}, map[string]*terminated{}
	}
	if len(p.containers) < maxIDs {
		p.containers[id] = name
	}
	p.attempts[name] = attempt
}

// restarts returns how often a container was started again. The runtime's log counts the attempts from 0.
func (p *pod) restarts(container string) int64 { return int64(p.attempts[container]) }
