//go:build linux

package uprobe

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/goproc"
	"github.com/podstep/podstep/probes/pclntab"
)

// Cost is what the probe costs the kubelet.
type Cost struct {
	// Hits is how often the kubelet has come to a place.
	Hits uint64
	// Each is how long one hit takes, as measured on a function of podstep's own.
	Each time.Duration
}

// Share returns the share of a core that the hits since an earlier Cost take, if they came within that time.
func (c Cost) Share(before Cost, within time.Duration) float64 {
	if within <= 0 {
		return 0
	}
	return float64(c.Hits-before.Hits) * float64(c.Each) / float64(within)
}

// Cost returns what the probe has cost so far.
func (p *Probe) Cost() Cost {
	return Cost{Hits: p.kernel.count(countHits) - p.kernel.own.hits, Each: p.kernel.own.each}
}

const (
	// The quickest of some rows of calls counts, because other things happen in between.
	measuredRows  = 10
	measuredCalls = 100
	measuredHits  = measuredRows * measuredCalls
)

// measurement is what comes of calls of podstep's own function while the program runs there. A thread that is not the
// process's first makes the calls.
type measurement struct {
	each time.Duration // how long a hit takes
	hits uint64        // how many of measuredHits the program has counted
	// places are the numbers of the places of the records that came. Each hit makes a record.
	places map[uint32]int
}

// measure makes the program run at podstep's own function, and calls that. Nothing else has a link to the program yet.
func (k *kernel) measure(place uint64) (m measurement, err error) {
	offset, err := measuredOffset()
	if err != nil {
		return m, fmt.Errorf("find podstep's own function: %w", err)
	}
	without := offFirstThread(quickest)
	before := k.count(countHits)
	links, err := k.attach(os.Getpid(), "/proc/self/exe", []uint64{offset}, []uint64{place})
	if err != nil {
		return m, errors.Join(err, closeLinks(links))
	}
	with := offFirstThread(quickest)
	if err := closeLinks(links); err != nil {
		return m, fmt.Errorf("detach the eBPF program: %w", err)
	}
	m.each, m.hits = max(with-without, 0)/measuredCalls, k.count(countHits)-before
	m.places, err = k.drain()
	return m, err
}

// drain takes all records out of the ring. It returns how many there are of each place.
func (k *kernel) drain() (places map[uint32]int, err error) {
	places = map[uint32]int{}
	var raw ringbuf.Record
	for {
		k.events.SetDeadline(time.Now())
		if err := k.events.ReadInto(&raw); errors.Is(err, os.ErrDeadlineExceeded) {
			return places, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the eBPF program's events: %w", err)
		}
		if r := recordOf(raw.RawSample); r != nil {
			places[r.Place]++
		}
	}
}

// offFirstThread calls f on a thread that is not the process's first one.
func offFirstThread(f func() time.Duration) (out time.Duration) {
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() == os.Getpid() { // this goroutine keeps the first thread, so the next one gets another
			out = offFirstThread(f)
			return
		}
		out = f()
	})
	wg.Wait()
	return out
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

// measured is the function at which hits are measured. It has a frame, as most functions of the kubelet have.
//
//go:noinline
func measured(n int) int { return inner(n) + 1 }

//go:noinline
func inner(n int) int { return n }

// measuredOffset returns the offset of measured's entry in the file of podstep's own program.
func measuredOffset() (uint64, error) {
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
	own, err := newImage(file, functions, text)
	if err != nil {
		return 0, err
	}
	entry, err := own.entry(fn)
	return entry.offset, err
}
