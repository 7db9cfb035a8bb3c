package outline

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// newCall puts a call or report into its pod's outline where no turns are seen,
// and begins chapters by it.
func (o *Outlines) newCall(p *Pod, sp *history.Span, r *history.Record) {
	sp.Item = p.Items.End()
	it := Item{Pos: r.Pos, Span: r.Span, First: sp.Ordinal, Last: sp.Ordinal + 1, Turn: None, Fault: None}
	it.Sub, it.Quiet = o.about(p, r), o.quiet(p, r)
	o.addItem(p, it)
	now := o.lives.Now().Pod(sp.Pod)
	switch role := o.h.Role(r.Step); {
	case role == probes.RoleBound:
		p.Bound = r.Span
	case role == probes.RoleDeleting:
		o.begin(p, o.firstStop(p, sp.Item), Termination, r)
	case role == probes.RoleStopSandbox && (now.Deleting || now.Ended || !r.Knows.Reports):
		o.begin(p, o.firstStop(p, sp.Item), Termination, r)
	case (role == probes.RoleCondition || role == probes.RolePhase) && (now.Ready || now.Phase.Over()):
		// This call belongs to the chapter that it ends; the next item begins the next chapter.
		o.begin(p, p.Items.End(), Running, r)
	}
}

// itemsBefore bounds how many items back firstStop looks.
const itemsBefore = 32

// firstStop returns the first of the stops that go on already: the kubelet may begin to stop containers before the
// report of the deletion comes.
func (o *Outlines) firstStop(p *Pod, item int) int {
	first := item
	for i := item - 1; i >= max(p.Items.First, item-itemsBefore); i-- {
		sp := o.h.Span(p.Items.At(i).Span)
		if sp == nil || sp.Exit != None {
			continue
		}
		enter := &history.Record{Raw: o.h.Raw(sp.Enter)}
		switch role := o.h.Role(sp.Step); {
		case role == probes.RoleStop, role == probes.RoleStopSandbox, role == probes.RoleExec && life.Changes(o.h, sp.Step, enter):
			first = i
		}
	}
	return first
}

// about returns a number that tells apart calls and reports of one step that are about different things, by the
// catalogue. Those about the same thing are counted together. Zero: the step is always about the same thing.
func (o *Outlines) about(p *Pod, r *history.Record) uint32 {
	fields := o.h.Step(r.Step).Means().About
	if len(fields) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, name := range fields {
		v := r.Field(name)
		if name == fieldContainerID {
			_, _ = h.WriteString(p.Container(v.String())) // a hash's write never fails
		} else {
			_, _ = h.Write(v.Text)
		}
		var num [8]byte
		binary.LittleEndian.PutUint64(num[:], uint64(v.Num))
		_, _ = h.Write(num[:])
	}
	return uint32(h.Sum64()) | 1
}

// fieldContainerID is the field of a container's id. To the reader two containers of one name are the same: one is
// the other's successor.
const fieldContainerID = "containerID"

// maxNames bounds the containers whose names a pod remembers.
const maxNames = 256

// nameContainer remembers the name of a container from the call that made it.
func (o *Outlines) nameContainer(p *Pod, r *history.Record) {
	sp := o.h.Span(r.Span)
	if sp == nil || o.h.Role(r.Step) != probes.RoleCreate || r.Header.HasError {
		return
	}
	enter := history.Record{Raw: o.h.Raw(sp.Enter)}
	id, name := r.Field(fieldContainerID).String(), enter.Field("container").String()
	if id == "" || name == "" {
		return
	}
	if p.Names == nil || len(p.Names) >= maxNames {
		p.Names = map[string]string{}
	}
	p.Names[id] = words.Clean(name)
}

// quietConditions are the conditions that add nothing to another condition, or to a call.
var quietConditions = map[string]bool{"PodScheduled": true, "Initialized": true, "ContainersReady": true}

// quiet returns whether a call or report is folded away from the start: a row of its own would hide what matters.
func (o *Outlines) quiet(p *Pod, r *history.Record) Quiet {
	field := func(name string) string { return string(r.Field(name).Text) }
	begun := len(p.Marks) > 0
	quiet := false
	switch o.h.Role(r.Step) {
	case probes.RoleBound, probes.RoleSandboxState, probes.RoleGone, probes.RoleChanged:
	case probes.RoleDeleting:
		// A deletion without a grace period is the kubelet's own at the end, when it lets go of the object.
		quiet = begun && p.Marks[len(p.Marks)-1].Chapter == Termination && r.Field("grace").Num == 0
	case probes.RoleKnown:
		quiet = begun
	case probes.RolePhase:
		quiet = field("phase") == "Pending"
	case probes.RoleCondition:
		kind := field("type")
		quiet = quietConditions[kind] || !begun && field("status") != "True" && kind != "DisruptionTarget" ||
			begun && kind == "PodReadyToStartContainers"
	case probes.RoleContainerState:
		quiet = field("state") == "waiting" && (field("reason") == "ContainerCreating" || field("reason") == "PodInitializing")
	case probes.RoleEvent:
		quiet = field("type") != "Warning"
	case probes.RoleIP:
		quiet = true
	default:
		if !life.Changes(o.h, r.Step, r) {
			return Routine
		}
	}
	if quiet {
		return Report
	}
	return Loud
}
