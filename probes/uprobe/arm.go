//go:build linux

package uprobe

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/podstep/podstep/probes"
)

// Armed is where threads are to be signalled at a step, so that their goroutines can be held.
type Armed struct {
	Enter, Exit bool
	// Every: those of all pods. Otherwise only those that Want names.
	Every bool
}

// At reports whether they are at a begin, or at an exit.
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
	// Address is that of the instruction, as the program was linked.
	Address uint64
}

// Points are all places of steps.
func (p *Probe) Points() (out []Point) {
	for _, at := range p.plan.places {
		out = append(out, Point{at.step.Step, at.exit, at.at})
	}
	return out
}

// Functions are the symbols of the functions of a step, and of the literals in them.
func (p *Probe) Functions(step string) []string {
	for _, s := range p.plan.steps {
		if s.Name == step {
			return s.symbols
		}
	}
	return nil
}

// Locking are functions of the kubelet that take a lock, in addition to those that the catalogue
// knows of: where they are under way nobody is to be held. There are none for a kubelet of
// the catalogue's version, whose locks people have read.
func (p *Probe) Locking() []string {
	if probes.SameMinor(p.table.Version) {
		return nil
	}
	return p.table.Locks()
}

// Locks are all functions that take a lock, by the source of the packages that the catalogue's
// steps are in.
func (p *Probe) Locks() []string { return p.table.Locks() }

// Arm has the program signal at these steps from now on, by name, and at no others.
func (p *Probe) Arm(steps map[string]Armed) error {
	for i, at := range p.plan.places {
		want, spec := steps[at.step.Name], at.spec
		if want.At(at.exit) {
			spec.Flags |= placeArmed
			if want.Every {
				spec.Flags |= placeEvery
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

// Want has the threads signalled, at places that are armed, that come there for these pods,
// by uid, or on these goroutines, by number, and for no others.
func (p *Probe) Want(uids []string, goroutines []uint64) error {
	byUID, byNumber := map[[uidLength]byte]bool{}, map[uint64]bool{}
	for _, uid := range uids {
		if len(uid) == uidLength {
			byUID[[uidLength]byte([]byte(uid))] = true
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

// replace makes the keys of a map in the kernel these, and no others.
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
