//go:build linux

package uprobe

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
)

// Watch makes calls of records of a Reader whose times count from began. No goroutine had a number
// above highest then; 0: it is not known which are new. Nobody looks into the kubelet for it.
func (p *Probe) Watch(c *probes.Catalogue, began time.Time, highest uint64, h Handler) *Watched {
	p.clock = clock{at: began}
	w := &Watched{calls: newCalls(p, c, h)}
	w.calls.lost, w.calls.keepPast = func() uint64 { return w.lost }, true
	if w.calls.old = highest; highest == 0 {
		w.calls.old = math.MaxUint64
	}
	return w
}

// Watched are the calls that a Reader's records are of.
type Watched struct {
	mu    sync.Mutex
	calls *calls
	lost  uint64 // records
}

// Lost notes that some records will not come.
func (w *Watched) Lost(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost += uint64(n)
	w.calls.losses()
}

// Take takes records, in their order. The handler must not ask what is open.
func (w *Watched) Take(all []Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range all {
		r := &all[i]
		if r.Flags&recordElement == 0 {
			w.calls.startedBefore(r)
		}
		w.calls.take(r)
	}
}

// Running is a goroutine on which calls are under way.
type Running struct {
	// Number is the goroutine's, G the address of the runtime's g.
	Number, G uint64
	// Calls are those, the innermost last.
	Calls []*Call
}

// Of is what is under way on a goroutine.
func (w *Watched) Of(number uint64) (Running, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.calls.goroutines[number]
	if g == nil || len(g.open) == 0 {
		return Running{}, false
	}
	return Running{number, g.address, slices.Clone(g.open)}, true
}

// All are the goroutines on which calls are under way, by number.
func (w *Watched) All() (out []Running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for number, g := range w.calls.goroutines {
		if len(g.open) > 0 {
			out = append(out, Running{number, g.address, slices.Clone(g.open)})
		}
	}
	slices.SortFunc(out, func(a, b Running) int { return cmp.Compare(a.Number, b.Number) })
	return out
}
