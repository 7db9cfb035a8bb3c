//go:build linux

package uprobe

import (
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
)

// FuzzRecord: whatever a record contains, its values have their kinds, and its texts are valid.
func FuzzRecord(f *testing.F) {
	s := newScene(f)
	f.Add(make([]byte, unsafe.Sizeof(reading.Record{})))
	f.Fuzz(func(t *testing.T, b []byte) {
		all := make([]uint64, unsafe.Sizeof(reading.Record{})/8)
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), unsafe.Sizeof(reading.Record{}))
		copy(raw, b)
		r := recordOf(raw)
		for i := range reading.MaxValues {
			if text, ok := r.TextIn(i); ok && !utf8.ValidString(text) {
				t.Errorf("value %d is no text: %q", i, text)
			}
		}
		for _, at := range s.calls.plan.places {
			s.calls.quiet(r, at)
			podsOf(r, at, nil)
			fieldsOf(r, at)
			_, _ = s.calls.errors.error(r, at.side.err)
		}
	})
}

// FuzzCalls: whatever the order of records, each call ends once, and inside its parent. The number of remembered
// goroutines is bounded.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{0, 1, 10, 0, 1, 1, 10, 0})
	f.Add([]byte{2, 1, 10, 4, 3, 1, 10, 0, 200, 2, 1, 0, 4, 2, 20, 0, 4, 1, 9, 0})
	s := newScene(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		*s.calls = calls{
			plan: s.calls.plan, errors: s.calls.errors, turn: s.calls.turn, workers: s.calls.workers, lost: s.calls.lost,
			goroutines: map[uint64]*goroutine{}, room: fewGoroutines, pending: map[uint64]*pendingRecord{}, beliefs: map[*step]belief{},
		}
		w := &watched{t: t, open: map[*Call]bool{}}
		s.calls.handler = w
		places := len(s.calls.plan.places)
		for ; len(b) >= 4; b = b[4:] {
			s.now++
			r := &seen{}
			r.Time, r.Goid, r.Depth = s.now, uint64(b[1]%8), uint64(b[2])
			r.G, r.Parent = r.Goid, uint64(b[2]%8)
			r.Place = uint32(int(b[0]) % (places + 1))
			r.Flags, r.List = b[3]&reading.FlagElement, uint32(b[3]>>5)
			if b[3]&1 != 0 {
				r.Start = worker
			}
			if int(r.Place) < places {
				r.at = s.calls.plan.places[r.Place]
				for i := range r.at.side.reads {
					if b[3]&4 != 0 {
						r.put(i, int(b[2]))
					} else if b[3]&8 != 0 {
						r.put(i, uid1)
					}
				}
			}
			s.calls.addRecord(&r.Record)
		}
		if len(s.calls.goroutines) > 16 || len(s.calls.pending) > 8 {
			t.Errorf("%d goroutines are remembered, and %d records", len(s.calls.goroutines), len(s.calls.pending))
		}
	})
}

// watched checks calls as they begin and end.
type watched struct {
	t    *testing.T
	open map[*Call]bool
}

func (w *watched) Enter(c *Call) {
	if w.open[c] {
		w.t.Errorf("%s begins twice", c.Step.Name)
	}
	w.open[c] = true
	if p := c.Parent; p != nil && p.Goroutine == c.Goroutine && !w.open[p] {
		w.t.Errorf("%s is in %s, which is over", c.Step.Name, p.Step.Name)
	}
}

func (w *watched) Exit(c *Call, at time.Time, _ error, _ []any) {
	if !w.open[c] {
		w.t.Errorf("%s ends, and is not open", c.Step.Name)
	}
	delete(w.open, c)
	for o := range w.open {
		if o.Parent == c && o.Goroutine == c.Goroutine {
			w.t.Errorf("%s ends before %s in it", c.Step.Name, o.Step.Name)
		}
	}
	if at.Before(c.At) {
		w.t.Errorf("%s ends before it begins", c.Step.Name)
	}
}

func (w *watched) Lost(int) {}

func (w *watched) Refused(*probes.Step, string) {}
