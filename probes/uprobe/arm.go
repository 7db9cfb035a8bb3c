//go:build linux

package uprobe

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Armed states at which places of a step threads are signalled, so that their goroutines can be held.
type Armed struct {
	Enter, Exit bool
	// Every: threads are signalled for all pods. Otherwise only for those that Want names.
	Every bool
}

// At reports whether threads are signalled at the step's exits or, without exit, at its entries.
func (a Armed) At(exit bool) bool {
	if exit {
		return a.Exit
	}
	return a.Enter
}

// Point is a place of the kubelet's code at which a step begins or ends.
type Point struct {
	Step *probes.Step
	Exit bool
	// Address is the instruction's address, as the program was linked.
	Address uint64
}

// Points returns all places of steps.
func (p *Probe) Points() (out []Point) {
	for _, at := range p.plan.places {
		out = append(out, Point{at.step.Step, at.exit, at.at})
	}
	return out
}

// Functions returns the symbols of a step's functions, and of the function literals in them. Of steps that are not seen it knows
// only those with which goroutines begin.
func (p *Probe) Functions(step string) []string {
	for _, s := range p.plan.steps {
		if s.Name == step {
			return s.symbols
		}
	}
	return p.plan.begins[step]
}

// Locking returns functions of the kubelet that take a lock, beyond those that the catalogue knows of: no goroutine
// is to be held while one of them is under way. There are none for a kubelet of the catalogue's very version, whose
// locks people have read. Another release of that minor version, or one that a vendor has patched, is another version. A
// kubelet whose steps' functions differ is another one too, whatever version it has.
func (p *Probe) Locking() []string {
	if p.version == probes.KubernetesVersion && p.build.other == 0 {
		return nil
	}
	return p.table.Locks()
}

// Locks returns all functions that take a lock, by the source of the packages that the catalogue's steps are in.
func (p *Probe) Locks() []string { return p.table.Locks() }

// Arm makes the program signal at these steps from now on, by name, and at no others.
func (p *Probe) Arm(steps map[string]Armed) error {
	for i, at := range p.plan.places {
		want, spec := steps[at.step.Name], at.spec
		if want.At(at.exit) {
			spec.Flags |= reading.Armed
			if want.Every {
				spec.Flags |= reading.Every
			}
		}
		if spec.Flags == at.now {
			continue
		}
		if err := p.kernel.objects.Places.Put(uint32(i), spec); err != nil {
			return fmt.Errorf("arm %s in the kernel: %w", at.step.Name, err)
		}
		at.now = spec.Flags
	}
	return nil
}

// Want selects the threads that are signalled at armed places: those that come there for these pods, by uid, or on
// these goroutines, by number.
func (p *Probe) Want(uids []string, goroutines []uint64) error {
	byUID, byNumber := map[[reading.UIDLength]byte]bool{}, map[uint64]bool{}
	for _, uid := range uids {
		if len(uid) == reading.UIDLength {
			byUID[[reading.UIDLength]byte([]byte(uid))] = true
		}
	}
	for _, n := range goroutines {
		byNumber[n] = true
	}
	if err := replace(p.kernel.objects.Pods, byUID); err != nil {
		return err
	}
	return replace(p.kernel.objects.Goroutines, byNumber)
}

// replace replaces the keys of a map in the kernel.
func replace[K comparable](m *ebpf.Map, keys map[K]bool) error {
	var old []K
	var k K
	var v uint8
	for all := m.Iterate(); all.Next(&k, &v); {
		if !keys[k] {
			old = append(old, k)
		}
	}
	for _, k := range old {
		_ = m.Delete(k) // it may be gone
	}
	for k := range keys {
		if err := m.Put(k, uint8(1)); err != nil {
			return fmt.Errorf("choose pods in the kernel: %w", err)
		}
	}
	return nil
}
