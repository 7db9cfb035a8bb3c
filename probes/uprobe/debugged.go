//go:build linux

package uprobe

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/reasons"
)

// Plan returns what the probe would make the kernel read all the time, for a debugger that stops the kubelet in the kernel's
// stead.
func (p *Probe) Plan() reading.Plan {
	r := reading.Plan{Layout: p.plan.layout, Reads: p.plan.reads, Wraps: p.errors.wraps()}
	if p.plan.numbers != 0 {
		r.Numbers = p.plan.numbers + p.bias
	}
	for _, at := range p.plan.places[:p.plan.always] {
		spec := at.spec
		spec.Below = uint32(at.wideBelow)
		var address uint64
		if p.noBreakpoint(at).IsZero() {
			address = at.wide + p.bias
		}
		r.Places = append(r.Places, reading.Place{Address: address, Linked: at.at, Exit: at.exit, Spec: spec})
	}
	return r
}

// NoBreakpoints returns the steps at which a debugger does not stop the kubelet, and why.
func (p *Probe) NoBreakpoints() map[string]probes.Reason {
	out := map[string]probes.Reason{}
	for _, at := range p.plan.places[:p.plan.always] {
		if why := p.noBreakpoint(at); !why.IsZero() {
			out[at.step.Name] = why
		}
	}
	return out
}

// noBreakpoint returns why a debugger does not stop the kubelet at a place; none if it does.
func (p *Probe) noBreakpoint(at *planned) probes.Reason {
	switch {
	case at.wide == 0:
		return reasons.NoBreakpoint.Reason()
	case at.step.EachPod:
		return reasons.EachPod.Reason()
	}
	return probes.Reason{}
}

// ArmedPlaces returns the numbers of the armed places. The value is true where every pod's threads are signalled.
func (p *Probe) ArmedPlaces(steps map[string]Armed) map[int]bool {
	out := map[int]bool{}
	for i, at := range p.plan.places[:p.plan.always] {
		if want := steps[at.step.Name]; want.At(at.exit) {
			out[i] = want.Every
		}
	}
	return out
}
