package state

import (
	"fmt"

	"github.com/podstep/podstep/probes"
)

// newItemBeside puts what is seen from outside into its pod's story, and begins
// chapters by it: there are no turns to do so.
func (s *State) newItemBeside(p *pod, sp *span, f *fact) {
	sp.item = p.items.end()
	it := item{pos: f.pos, span: f.span, first: sp.ordinal, last: sp.ordinal + 1, turn: none, fault: none}
	it.sub, it.quiet = s.subBeside(p, f), s.quietBeside(p, f)
	p.addItem(s, it)
	now := &s.now.pods[sp.pod]
	switch name := stepName(s.steps.at(f.step).name); {
	case name == stepBound:
		p.bound = f.span
	case name == stepDeleting:
		s.begin(p, s.firstStop(p, sp.item), termination, f)
	case name == stepStopSandbox && (now.deleting || now.ended || !s.reports()):
		s.begin(p, s.firstStop(p, sp.item), termination, f)
	case (name == stepCondition || name == stepPhase) && (now.ready || now.phase == phaseSucceeded || now.phase == phaseFailed):
		// What it ran into begins with what comes next.
		s.begin(p, p.items.end(), running, f)
	}
}

// firstStop is the first of the stops that go on already: the kubelet may begin
// before it is heard that it is to.
func (s *State) firstStop(p *pod, item int) int {
	first := item
	for i := item - 1; i >= max(p.items.first, item-itemsBefore); i-- {
		sp := s.spans.at(p.items.at(i).span)
		if sp == nil || sp.exit != none {
			continue
		}
		if st := s.steps; st.is(sp.step, stepStop) || st.is(sp.step, stepStopSandbox) || s.isDeed(sp.step, s.arena.at(sp.enter)) && st.is(sp.step, stepExec) {
			first = i
		}
	}
	return first
}

// itemsBefore bounds how far back stops are looked for that go on.
const itemsBefore = 32

// subBeside tells apart calls and reports of one step that are about different
// things. Those that are about the same are counted.
func (s *State) subBeside(p *pod, f *fact) uint32 {
	field := func(name string) string { return lookup(f.raw, name).String() }
	both := func(a, b string) uint32 { return uint32(hash(a, []byte(b))) }
	switch name := stepName(s.steps.at(f.step).name); name {
	case stepCondition:
		return both(field("type"), field("status"))
	case stepContainer:
		return both(field("container"), field("state")+field("reason"))
	case stepEvent:
		return both(field("reason"), field("object"))
	case stepDeleting:
		return both("grace", fmt.Sprint(lookup(f.raw, "grace").num))
	case stepPhase:
		return both(field("phase"), field("reason"))
	case stepKnown:
		return both("known", field("source")+map[bool]string{true: "1"}[lookup(f.raw, "known").flag()])
	case stepCreate:
		return both("container", field("container"))
	case stepPullImage, stepImageStatus:
		return both("image", field("image"))
	case stepExec:
		return both(p.container(field("containerID")), field("command"))
	default:
		if id := field("containerID"); id != "" {
			return both("container", p.container(id))
		}
	}
	return 0
}

// container is the name of a container, or its id if nobody has told.
func (p *pod) container(id string) string {
	if name, ok := p.names[id]; ok {
		return name
	}
	return id
}

// maxNames bounds the containers whose names a pod remembers.
const maxNames = 256

// nameContainer learns the name of a container from the call that made it.
func (s *State) nameContainer(p *pod, f *fact) {
	sp := s.spans.at(f.span)
	if sp == nil || !s.steps.is(f.step, stepCreate) || f.h.HasError {
		return
	}
	id, name := lookup(f.raw, "containerID").String(), lookup(s.arena.at(sp.enter), "container").String()
	if id == "" || name == "" {
		return
	}
	if p.names == nil || len(p.names) >= maxNames {
		p.names = map[string]string{}
	}
	p.names[id] = Clean(name)
}

// quietConditions are those that say what another one, or a call, says as well.
var quietConditions = map[string]bool{"PodScheduled": true, "Initialized": true, "ContainersReady": true}

// quietBeside tells which of the folds a call or report goes into by itself: one
// that is told one by one would hide what matters.
func (s *State) quietBeside(p *pod, f *fact) byte {
	field := func(name string) string { return lookup(f.raw, name).String() }
	begun := len(p.marks) > 0
	quiet := false
	switch name := stepName(s.steps.at(f.step).name); name {
	case stepBound, stepHasSandbox, stepGone, stepChanged:
	case stepDeleting:
		// With no grace period the kubelet lets go of the object, at the end.
		quiet = begun && p.marks[len(p.marks)-1].chapter == termination && lookup(f.raw, "grace").num == 0
	case stepKnown:
		quiet = begun
	case stepPhase:
		quiet = field("phase") == "Pending"
	case stepCondition:
		kind := field("type")
		quiet = quietConditions[kind] || !begun && field("status") != "True" && kind != "DisruptionTarget" ||
			begun && kind == "PodReadyToStartContainers"
	case stepContainer:
		quiet = field("state") == "waiting" && (field("reason") == "ContainerCreating" || field("reason") == "PodInitializing")
	case stepEvent:
		quiet = field("type") != "Warning"
	case stepIP:
		quiet = true
	default:
		if !s.isDeed(f.step, f.raw) {
			return keyRoutine
		}
	}
	if quiet {
		return keyReports
	}
	return 0
}

// titles of what the cluster says, as far as it is worth telling apart.
var (
	wordCondition = text("condition %s", "condition %s")
	wordContainer = text("container %s", "容器 %s")
	wordEvent     = text("event %s", "事件 %s")
)

// reportLabel names a report by what it is about; empty if it is by its title.
func (s *State) reportLabel(c *call) string {
	about := func(t probes.Text, field string) string {
		if n := c.text(field); n != "" {
			return s.lang.sayf(t, n)
		}
		return ""
	}
	switch stepName(c.step.name) {
	case stepCondition:
		return about(wordCondition, "type")
	case stepContainer:
		return about(wordContainer, "container")
	case stepEvent:
		return about(wordEvent, "reason")
	case stepKnown:
		if known, ok := c.args["known"].(bool); ok && !known {
			return s.lang.Say(text("The kubelet has the pod no more", "kubelet 已没有该 Pod"))
		}
	}
	return ""
}

// from says who told a report: the API server, or the kubelet's list of its pods.
func (s *State) from(c *call) string {
	if c.step.about == nil || !c.step.about.Outside() {
		return ""
	}
	switch {
	case c.text("from") == string(probes.ByKubelet):
		return string(probes.ByKubelet)
	case c.step.about.Seen == probes.ByRuntime:
		return "runtime"
	}
	return string(c.step.about.Seen)
}
