package state

import (
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// inPullQueue tells whether a pod that wants an image has to wait for its turn:
// the kubelet has not asked the runtime for it yet.
func (s *State) inPullQueue(pod int, p *life.Pod, v *view) bool {
	st := s.h.Step(s.h.StepFor(probes.RolePull))
	if st.Here == nil || !st.Here.GetSeen() {
		return false
	}
	return !s.h.GoesOn(pod, probes.RolePull, p.Since, v.at)
}

// pullQueue says why a pull waits, and for which pod's.
func (s *State) pullQueue(v *view) probes.Text {
	pull := s.h.StepFor(probes.RolePullWait)
	for i := range s.h.Pods() {
		if p := v.pod(i); i > 0 && p.At != none && p.Step == pull && s.h.GoesOn(i, probes.RolePull, p.Since, v.at) {
			name := s.of(i).Entity.Name
			return words.Text("its image waits behind that of "+name+" in the kubelet's queue, which pulls one at a time",
				"它的镜像排在 "+name+" 的后面（kubelet 一次只拉一个）")
		}
	}
	return words.Text("its image waits for its turn in the kubelet's queue", "它的镜像在 kubelet 的拉取队列里排队")
}

// lastExit says how the container ended that the kubelet does not start again
// yet; empty if that is not why.
func (s *State) lastExit(pod int, err string, v *view) string {
	m := failedTo.FindStringSubmatch(err)
	if m == nil || m[3] != "CrashLoopBackOff" {
		return ""
	}
	create, status := s.h.StepFor(probes.RoleCreate), s.h.StepFor(probes.RoleContainerStatus)
	id := ""
	s.h.Back(pod, v.at, func(ref int, sp *history.Span) bool {
		if sp.Step != create || !sp.Over(v.at) {
			return false
		}
		c := s.h.Call(ref, v.at)
		if c.Text("container") == m[2] {
			id = c.Text("containerID")
		}
		return id != ""
	})
	if id == "" {
		return ""
	}
	var last history.Call
	ref := s.h.Back(pod, v.at, func(ref int, sp *history.Span) bool {
		if sp.Step != status || !sp.Over(v.at) {
			return false
		}
		last = s.h.Call(ref, v.at)
		return last.Text("containerID") == id
	})
	code, ok := last.Number("exitCode")
	if ref == none || !ok || last.Text("state") != "CONTAINER_EXITED" {
		return ""
	}
	return s.lang.Inf(words.Text(" Its last exit code was %d (%s).", "上次的退出码是 %d（%s）。"), code, words.OneLine(last.Text("reason")))
}

// whyUnready says which health probe keeps a running pod from being ready, and
// the event that shows it.
func (s *State) whyUnready(pod int, name string, v *view) (string, *probes.Event) {
	step := s.h.StepFor(probes.RoleProbe)
	seen := map[string]bool{}
	var c history.Call
	ref := s.h.Back(pod, v.at, func(ref int, sp *history.Span) bool {
		if sp.Step != step || !sp.Over(v.at) {
			return false
		}
		c = s.h.Call(ref, v.at)
		key := c.Text("probeType") + " " + c.Text("container")
		if seen[key] || c.Text("probeType") == "Liveness" {
			return false
		}
		seen[key] = true
		return c.Text("result") == "Failure"
	})
	if ref == none {
		return "", nil
	}
	e, ok := s.h.Event(c.Exit)
	if !ok {
		return "", nil
	}
	return s.lang.Inf(words.Text("%s runs but is not ready: the %s probe of container %s fails.", "%s 正在运行但没有就绪：%s 探针失败，容器 %s。"),
		name, strings.ToLower(words.OneLine(c.Text("probeType"))), words.OneLine(c.Text("container"))), &e
}
