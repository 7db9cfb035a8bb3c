//go:build linux

package uprobe

import "github.com/podstep/podstep/probes/inside/reading"

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
		address := at.wide + p.bias
		if at.wide == 0 {
			address = 0
		}
		r.Places = append(r.Places, reading.Place{Address: address, Linked: at.at, Exit: at.exit, Spec: spec})
	}
	return r
}

// NoBreakpoints returns the steps at which a debugger's breakpoints cannot stand.
func (p *Probe) NoBreakpoints() map[string]bool {
	out := map[string]bool{}
	for _, at := range p.plan.places[:p.plan.always] {
		if at.wide == 0 {
			out[at.step.Name] = true
		}
	}
	return out
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
