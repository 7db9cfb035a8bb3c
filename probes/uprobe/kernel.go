//go:build linux

package uprobe

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/podstep/podstep/probes/inside/reading"
)

//go:generate bpf/generate.sh ..
//go:generate go -C ../.. run ./cmd/gen inside

// kernel is the program in the kernel, with the data that it reads by and the places that it runs at.
type kernel struct {
	objects objects
	links   []link.Link // to the places at which the program runs all the time
	events  *ringbuf.Reader
	multi   bool
	own     measurement // what came of podstep's own calls, before all others
}

type objects struct {
	Step       *ebpf.Program `ebpf:"step"`
	Places     *ebpf.Map     `ebpf:"places"`
	Reads      *ebpf.Map     `ebpf:"reads"`
	Layouts    *ebpf.Map     `ebpf:"layouts"`
	Wraps      *ebpf.Map     `ebpf:"wraps"`
	Entries    *ebpf.Map     `ebpf:"entries"`
	Pods       *ebpf.Map     `ebpf:"pods"`
	Goroutines *ebpf.Map     `ebpf:"goroutines"`
	Busy       *ebpf.Map     `ebpf:"busy"`
	Events     *ebpf.Map     `ebpf:"events"`
	Counts     *ebpf.Map     `ebpf:"counts"`
}

func (o *objects) close() {
	for _, m := range []*ebpf.Map{o.Places, o.Reads, o.Layouts, o.Wraps, o.Entries, o.Pods, o.Goroutines, o.Busy, o.Events, o.Counts} {
		_ = m.Close()
	}
	_ = o.Step.Close()
}

// load loads the program: for one link to all places of a process (multi), or for one link a place.
func load(multi bool) (k *kernel, err error) {
	// Kernels before 5.11 count maps as locked memory. Others do not need this.
	_ = rlimit.RemoveMemlock()
	k = &kernel{multi: multi}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("read the eBPF program: %w", err)
	}
	if k.multi {
		spec.Programs["step"].AttachType = ebpf.AttachTraceUprobeMulti
	}
	if err := spec.LoadAndAssign(&k.objects, nil); err != nil {
		return nil, fmt.Errorf("load the eBPF program: %w", err)
	}
	if k.events, err = ringbuf.NewReader(k.objects.Events); err != nil {
		k.objects.close()
		return nil, fmt.Errorf("read the eBPF program's events: %w", err)
	}
	return k, nil
}

// typicalReads is how many values a place has on average.
const typicalReads = 5

// measuredPlace is the number of the place at which a hit is measured, behind all others.
func (p *plan) measuredPlace() uint64 { return uint64(len(p.places) + len(p.starts)) }

// fill gives the program the data that it reads by.
func (k *kernel) fill(p *plan, wraps map[uint64]reading.Wrap) error {
	places := make([]reading.Spec, p.measuredPlace()+1)
	numbers := make([]uint32, max(len(places), len(p.reads)))
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	for i, at := range p.places {
		places[i] = at.spec
	}
	for i := range p.starts {
		places[len(p.places)+i].Flags = reading.Starts
	}
	places[p.measuredPlace()].Reads = uint8(min(typicalReads, len(p.reads)))
	if err := put(k.objects.Places, numbers[:len(places)], places); err != nil {
		return err
	}
	if err := put(k.objects.Reads, numbers[:len(p.reads)], p.reads); err != nil {
		return err
	}
	for at, w := range wraps {
		if err := k.objects.Wraps.Put(at, w); err != nil {
			return fmt.Errorf("fill the eBPF program's maps: %w", err)
		}
	}
	if err := k.objects.Layouts.Put(uint32(0), p.layout); err != nil {
		return fmt.Errorf("fill the eBPF program's maps: %w", err)
	}
	return nil
}

func put(m *ebpf.Map, keys, values any) error {
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		return fmt.Errorf("fill the eBPF program's maps: %w", err)
	}
	return nil
}

// attach makes the program run at offsets of a process's program. numbers are those of the places there.
func (k *kernel) attach(pid int, file string, offsets, numbers []uint64) (links []link.Link, err error) {
	exe, err := link.OpenExecutable(file)
	if err != nil {
		return nil, fmt.Errorf("open the program: %w", err)
	}
	if k.multi {
		l, err := exe.UprobeMulti(nil, k.objects.Step, &link.UprobeMultiOptions{Addresses: offsets, Cookies: numbers, PID: uint32(pid)})
		if err != nil {
			return nil, fmt.Errorf("attach the eBPF program: %w", err)
		}
		return []link.Link{l}, nil
	}
	for i, at := range offsets {
		l, err := exe.Uprobe("", k.objects.Step, &link.UprobeOptions{Address: at, PID: pid, Cookie: numbers[i]})
		if err != nil {
			return links, fmt.Errorf("attach the eBPF program: %w", err)
		}
		links = append(links, l)
	}
	return links, nil
}

// close takes the program out of the kernel.
func (k *kernel) close() error {
	err := errors.Join(closeLinks(k.links), k.events.Close())
	k.links = nil
	k.objects.close()
	return err
}

// closeLinks closes links at the same time: each close waits until no processor is in the program.
func closeLinks(links []link.Link) error {
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() { errs[i] = l.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// count returns one of the program's counters.
func (k *kernel) count(what uint32) (n uint64) {
	var each []uint64
	if err := k.objects.Counts.Lookup(what, &each); err != nil {
		return 0
	}
	for _, x := range each {
		n += x
	}
	return n
}
