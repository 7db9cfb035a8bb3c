//go:build linux

package uprobe

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/podstep/podstep/probes/pclntab"
	"github.com/podstep/podstep/probes/uprobe/goproc"
)

// Cost is what the probe costs the kubelet.
type Cost struct {
	// Hits is how often the kubelet has come to a place.
	Hits uint64
	// Each is what one hit takes, as measured on a function of podstep's own; zero: that
	// was not possible, or is not done yet.
	Each time.Duration
}

// Share is which share of a core the hits take that came within some time since another cost.
func (c Cost) Share(before Cost, within time.Duration) float64 {
	if within <= 0 {
		return 0
	}
	return float64(c.Hits-before.Hits) * float64(c.Each) / float64(within)
}

// Cost is what the probe has cost so far.
func (p *Probe) Cost() Cost {
	return Cost{Hits: p.kernel.count(countHits) - uint64(p.ownHits.Load()), Each: time.Duration(p.each.Load())}
}

const (
	// A hit is measured by the quickest of some rows of calls, since other things happen too.
	measuredRows  = 10
	measuredCalls = 100
)

// measure measures what a hit takes.
func (p *Probe) measure() error {
	offset, err := measuredPlace()
	if err != nil {
		return fmt.Errorf("measure what a hit takes: %w", err)
	}
	without := quickest()
	links, err := p.kernel.attach(os.Getpid(), "/proc/self/exe", []uint64{offset}, p.plan.measuredPlace())
	if err != nil {
		return fmt.Errorf("measure what a hit takes: %w", err)
	}
	with := quickest()
	p.ownHits.Store(measuredRows * measuredCalls)
	p.each.Store(int64(max(with-without, 0) / measuredCalls))
	for _, l := range links {
		err = errors.Join(err, l.Close())
	}
	return err
}

func quickest() (best time.Duration) {
	for row := range measuredRows {
		begin := time.Now()
		for range measuredCalls {
			measured(row)
		}
		if took := time.Since(begin); row == 0 || took < best {
			best = took
		}
	}
	return best
}

// measured is the function that is looked at. It has a frame, as most of the kubelet's have.
//
//go:noinline
func measured(n int) int { return inner(n) + 1 }

//go:noinline
func inner(n int) int { return n }

// measuredPlace is where in the file of podstep's own program the entry of that function is.
func measuredPlace() (uint64, error) {
	data, unmap, err := goproc.Map("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	defer unmap()
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	functions, text, err := pclntab.Open(file, data)
	if err != nil {
		return 0, err
	}
	bias, err := goproc.Bias(os.Getpid(), &file.FileHeader)
	if err != nil {
		return 0, err
	}
	fn, ok := functions.Find(uint64(reflect.ValueOf(measured).Pointer()) - bias)
	if !ok {
		return 0, errors.New("podstep's own program has no such function")
	}
	entry, err := newImage(file, functions, text).entry(fn)
	return entry.offset, err
}
