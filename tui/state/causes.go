package state

import (
	"strings"

	"github.com/podstep/podstep/probes"
)

// goesOn tells whether a pod is in a call of a step that began at a time or
// later, on whatever goroutine.
func (s *State) goesOn(pod int, name stepName, from int64, at int) bool {
	id, ok := s.steps.byName[string(name)]
	if !ok {
		return false
	}
	return s.back(pod, at, func(ref int, sp *span) bool {
		return sp.start >= from && sp.step == id && !sp.over(at)
	}) != none
}

// back finds the latest call of a pod that is as wanted, or none.
func (s *State) back(pod, at int, wanted func(ref int, sp *span) bool) int {
	spans := &s.pods[pod].spans
	for i, n := spans.end()-1, 0; i >= spans.first && n < lookBack; i, n = i-1, n+1 {
		ref := *spans.at(i)
		if sp := s.spans.at(ref); sp != nil && sp.enter < at && wanted(ref, sp) {
			return ref
		}
	}
	return none
}

// inPullQueue tells whether a pod that wants an image has to wait for its turn:
// the kubelet has not asked the runtime for it yet.
func (s *State) inPullQueue(pod int, p *podNow, v *view) bool {
	st := s.steps.at(s.steps.byName[string(stepPullImage)])
	if st.here == nil || !st.here.GetSeen() {
		return false
	}
	return !s.goesOn(pod, stepPullImage, p.since, v.at)
}

// pullQueue says why a pull waits, and for which pod's.
func (s *State) pullQueue(v *view) probes.Text {
	pull := s.steps.byName[string(stepPull)]
	for i := range s.pods {
		if p := v.pod(i); i > 0 && p.at != none && p.step == pull && s.goesOn(i, stepPullImage, p.since, v.at) {
			name := s.pods[i].entity.Name
			return text("its image waits behind that of "+name+" in the kubelet's queue, which pulls one at a time",
				"它的镜像排在 "+name+" 的后面（kubelet 一次只拉一个）")
		}
	}
	return text("its image waits for its turn in the kubelet's queue", "它的镜像在 kubelet 的拉取队列里排队")
}

// lastExit says how the container ended that the kubelet does not start again
// yet; empty if that is not why.
func (s *State) lastExit(pod int, err string, v *view) string {
	m := failedTo.FindStringSubmatch(err)
	if m == nil || m[3] != "CrashLoopBackOff" {
		return ""
	}
	create, status := s.steps.byName[string(stepCreate)], s.steps.byName[string(stepStatusOf)]
	id := ""
	s.back(pod, v.at, func(ref int, sp *span) bool {
		if sp.step != create || !sp.over(v.at) {
			return false
		}
		c := s.call(ref, v.at)
		if c.text("container") == m[2] {
			id = c.text("containerID")
		}
		return id != ""
	})
	if id == "" {
		return ""
	}
	var last call
	ref := s.back(pod, v.at, func(ref int, sp *span) bool {
		if sp.step != status || !sp.over(v.at) {
			return false
		}
		last = s.call(ref, v.at)
		return last.text("containerID") == id
	})
	code, ok := last.number("exitCode")
	if ref == none || !ok || last.text("state") != "CONTAINER_EXITED" {
		return ""
	}
	return s.lang.sayf(text(" Its last exit code was %d (%s).", "上次的退出码是 %d（%s）。"), code, oneLine(last.text("reason")))
}

// whyUnready says which health probe keeps a running pod from being ready, and
// the event that shows it.
func (s *State) whyUnready(pod int, name string, v *view) (string, *probes.Event) {
	step := s.steps.byName[string(stepProbeOnce)]
	seen := map[string]bool{}
	var c call
	ref := s.back(pod, v.at, func(ref int, sp *span) bool {
		if sp.step != step || !sp.over(v.at) {
			return false
		}
		c = s.call(ref, v.at)
		key := c.text("probeType") + " " + c.text("container")
		if seen[key] || c.text("probeType") == "Liveness" {
			return false
		}
		seen[key] = true
		return c.text("result") == "Failure"
	})
	if ref == none {
		return "", nil
	}
	e, ok := s.event(c.exit)
	if !ok {
		return "", nil
	}
	return s.lang.sayf(text("%s runs but is not ready: the %s probe of container %s fails.", "%s 正在运行但没有就绪：%s 探针失败，容器 %s。"),
		name, strings.ToLower(oneLine(c.text("probeType"))), oneLine(c.text("container"))), &e
}
