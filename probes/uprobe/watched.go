//go:build linux

package uprobe

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Watch makes calls from the records of a reading.Reader. When it began to read, no goroutine had a number above
// highest. 0: it is not known which goroutines are new. The probe itself does not look into the kubelet for
// this.
func (p *Probe) Watch(c *probes.Catalogue, highest uint64, h Handler) *Watched {
	w := &Watched{calls: newCalls(p, c, h)}
	w.calls.lost, w.calls.keepPast = func() uint64 { return w.lost }, true
	if w.calls.old = highest; highest == 0 {
		w.calls.old = math.MaxUint64
	}
	return w
}

// Watched has the calls of a reading.Reader's records.
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

// Take takes records, in their order. The handler must not call methods of Watched.
func (w *Watched) Take(all []reading.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range all {
		r := &all[i]
		if r.Flags&reading.FlagElement == 0 {
			w.calls.startedBefore(r)
		}
		w.calls.addRecord(r)
	}
}

// End ends the calls under way, with this error: their process has ended.
func (w *Watched) End(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls.endAll(why, time.Now())
}

// Running is a goroutine on which calls are under way.
type Running struct {
	// Number is the goroutine's number. G is the address of the runtime's g.
	Number, G uint64
	// Calls are the calls under way, the innermost last.
	Calls []*Call
}

// Of returns the calls that are under way on a goroutine.
func (w *Watched) Of(number uint64) (Running, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.calls.goroutines[number]
	if g == nil || len(g.open) == 0 {
		return Running{}, false
	}
	return Running{number, g.address, slices.Clone(g.open)}, true
}

// All returns the goroutines on which calls are under way, by number.
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
