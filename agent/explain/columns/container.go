package columns

import (
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// containers adds the rows about each container.
func (l *layout) containers() {
	for _, c := range l.specs() {
		l.state(c.Name)
		l.restarts(c.Name)
		l.image(c.Name)
		l.amounts(c.Name)
		l.cpus(c.Name)
		l.devices(c.Name)
	}
}

// The values of a container's state. A container that waits to be started again has ended.
const (
	isUp    = "up"
	isEnded = "ended"
	isNone  = "none"
)

func (l *layout) state(name string) {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if st := statusIn(l.status(p), name); st != nil {
			cells[p] = stateCell(st)
		}
	}
	if l.s.Runtime != nil {
		cells[Runtime] = stateOf(l.s.Runtime.Newest(name), cells[API].values["state"])
	}
	l.statusRow(name, words.Text("state", "状态"), cells)
}

// stateCell returns the state of a container as a status has it.
func stateCell(st *corev1.ContainerStatus) Cell {
	switch is := st.State; {
	case is.Running != nil:
		return cellOf(words.Text("running", "运行中"), is.Running.StartedAt.Time, "state", isUp)
	case is.Terminated != nil:
		return endedCell(is.Terminated.ExitCode, is.Terminated.Reason, is.Terminated.FinishedAt.Time)
	case is.Waiting != nil:
		text := words.With(words.Text("waiting (%s)", "等待（%s）"), words.OneLine(is.Waiting.Reason))
		if last := st.LastTerminationState.Terminated; last != nil {
			return cellOf(text, last.FinishedAt.Time, "state", isEnded)
		}
		return cellOf(text, time.Time{}, "state", isNone)
	}
	return Cell{}
}

func endedCell(code int32, reason string, at time.Time) Cell {
	out := cellOf(endedText(code, reason), at, "state", isEnded)
	out.values["code"] = strconv.Itoa(int(code))
	return out
}

func endedText(code int32, reason string) probes.Text {
	if reason == "" || reason == "Error" || reason == "Completed" {
		return words.With(words.Text("ended with %d", "以 %d 结束"), int(code))
	}
	return words.With(words.Text("ended with %d (%s)", "以 %d 结束（%s）"), int(code), words.OneLine(reason))
}

// stateOf returns the state of a container as the runtime has it. The kubelet removes containers that have ended: one that is not
// there differs only from one that should run.
func stateOf(c *evidence.Container, shown string) Cell {
	switch {
	case c == nil && shown == isEnded:
		return Cell{Text: none}
	case c == nil:
		return cellOf(none, time.Time{}, "state", isNone)
	case c.State == "running":
		return cellOf(words.Text("running", "运行中"), c.Started, "state", isUp)
	case c.State == "exited":
		return endedCell(c.ExitCode, c.Reason, c.Finished)
	case c.State == "created" && shown == isUp:
		return cellOf(words.Text("created", "已创建"), c.Created, "state", isNone)
	}
	return Cell{Text: words.Same(c.State), Since: c.Created}
}

// restarts adds how often a container was started again. The runtime keeps the number as the attempt of its newest container.
func (l *layout) restarts(name string) {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if st := statusIn(l.status(p), name); st != nil {
			n := strconv.Itoa(int(st.RestartCount))
			cells[p] = cellOf(words.Same(n), stateCell(st).Since, "restarts", n)
		}
	}
	if c := l.s.Runtime.Newest(name); c != nil {
		n := strconv.Itoa(int(c.Attempt))
		cells[Runtime] = cellOf(words.Same(n), c.Created, "restarts", n)
	}
	l.statusRow(name, words.Text("restarts", "重启"), cells)
}

// image adds the image that the spec names, and the one of which the runtime has made the container.
func (l *layout) image(name string) {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if c := specIn(l.object(p), name); c != nil {
			cells[p] = cellOf(words.Same(c.Image), time.Time{}, "image", wholeImage(c.Image))
		}
	}
	if c := l.s.Runtime.Newest(name); c != nil && c.Image != "" {
		cells[Runtime] = cellOf(words.Same(c.Image), time.Time{}, "image", wholeImage(c.Image))
	}
	l.row(name, words.Text("image", "镜像"), cells)
}

// wholeImage returns an image's name with what may be left out of it, as runtimes complete it.
func wholeImage(name string) string {
	host, _, below := strings.Cut(name, "/")
	switch {
	case !below:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		name = "docker.io/" + name
	}
	if !strings.Contains(path.Base(name), ":") && !strings.Contains(name, "@") {
		name += ":latest"
	}
	return name
}

// cpus adds the CPUs that belong to a container alone.
func (l *layout) cpus(name string) {
	var cells [places]Cell
	if !l.Seen[Disk] || l.s.Machine.Checkpoints.CPUs[name] == "" {
		return
	}
	cpus := l.s.Machine.Checkpoints.CPUs[name]
	cells[Disk] = cellOf(words.Same(cpus), time.Time{}, "cpus", cpus)
	if c := l.s.Runtime.Newest(name); c != nil && c.State == "running" && c.Limits != nil && c.Limits.CPUs != "" {
		cells[Runtime] = cellOf(words.Same(c.Limits.CPUs), c.Started, "cpus", c.Limits.CPUs)
	}
	l.row(name, words.Text("CPUs", "独占 CPU"), cells)
}
