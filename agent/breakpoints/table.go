// Package breakpoints has the breakpoints of an agent: when each applies, and how often it has acted. The agent asks for
// those that apply where a pod is, and acts by them.
//
// The order of locks: Table.mu is held when the functions are called that NewTable was given, and when a function looks for
// a breakpoint. So what these lock comes after it.
package breakpoints

import (
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/hook"
)

// Most bounds the list that every step goes through.
const Most = 256

// Table is the table of the breakpoints.
type Table struct {
	armed func(n int32)
	last  func() uint64
	// snapshots and logs count the breakpoints that keep stacks, and those that log and stop nobody.
	snapshots, logs atomic.Int32

	mu     sync.RWMutex
	lastID uint32
	all    map[uint32]*Breakpoint
}

// NewTable makes a table. armed is called with the change in the number of breakpoints that stop calls. last returns the
// number of the last event that there was.
func NewTable(armed func(n int32), last func() uint64) *Table {
	return &Table{armed: armed, last: last, all: map[uint32]*Breakpoint{}}
}

// Add adds a breakpoint. It is removed when it expires, or when its client is done.
func (t *Table) Add(b *Breakpoint) (*agentpb.Breakpoint, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.all); n >= Most {
		return nil, reason.Failed(codes.FailedPrecondition, &agentpb.Problem{
			Code: agentpb.Problem_TOO_MANY_BREAKPOINTS, Args: map[string]string{"count": strconv.Itoa(n)},
		})
	}
	t.lastID++
	b.ID, b.seq = t.lastID, t.last()
	t.all[b.ID] = b
	t.arm(b, 1)
	life := b.expiry()
	b.expires = time.Now().Add(life)
	b.timer = hook.AfterFunc(life, func() { t.Remove(b.ID) })
	b.forget = hook.AfterDone(b.Client, func() { t.Remove(b.ID) })
	return b.proto(), nil
}

// arm adds n to the number of breakpoints of the same kind. The caller holds mu.
func (t *Table) arm(b *Breakpoint, n int32) {
	switch {
	case b.Snaps():
		t.snapshots.Add(n)
	case b.Passes():
		t.logs.Add(n)
	default:
		t.armed(n)
	}
}

// Snaps reports whether a breakpoint wants stacks.
func (t *Table) Snaps() bool { return t.snapshots.Load() > 0 }

// Logs reports whether a breakpoint logs and stops nobody.
func (t *Table) Logs() bool { return t.logs.Load() > 0 }

// Remove removes a breakpoint and returns it; nil: there is none with this id.
func (t *Table) Remove(id uint32) *Breakpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.all[id]
	if b != nil {
		t.drop(b)
	}
	return b
}

// drop removes a breakpoint that is in the table. The caller holds mu.
func (t *Table) drop(b *Breakpoint) {
	b.timer.Stop()
	b.forget()
	delete(t.all, b.ID)
	t.arm(b, -1)
}

// Clear removes all breakpoints.
func (t *Table) Clear() {
	for _, b := range t.List() {
		t.Remove(b.ID)
	}
}

// List returns the breakpoints, oldest first.
func (t *Table) List() []*Breakpoint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*Breakpoint, 0, len(t.all))
	for _, b := range t.all {
		out = append(out, b)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Stopping calls look with the breakpoints that stop calls. None is added or removed meanwhile.
func (t *Table) Stopping(look func([]*Breakpoint)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []*Breakpoint
	for _, b := range t.all {
		if !b.Passes() {
			out = append(out, b)
		}
	}
	look(out)
}

// Proto returns a breakpoint as a message.
func (t *Table) Proto(b *Breakpoint) *agentpb.Breakpoint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return b.proto()
}

// Hit returns the oldest breakpoint that suits if it acts now, or nil. It counts the hit.
func (t *Table) Hit(suits func(*Breakpoint) bool) *Breakpoint {
	for {
		b := t.First(suits)
		if b == nil {
			return nil
		}
		if acts, there := t.Count(b); there {
			if acts {
				return b
			}
			return nil
		}
		// At the same time another call was the last that the breakpoint acted on.
	}
}

// First returns the oldest breakpoint that suits, or nil.
func (t *Table) First(suits func(*Breakpoint) bool) (found *Breakpoint) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, b := range t.all {
		if suits(b) && (found == nil || b.ID < found.ID) {
			found = b
		}
	}
	return found
}

// Count counts a hit, and removes the breakpoint after its last one. It reports whether the breakpoint acts on this
// hit, and whether it was still in the table.
func (t *Table) Count(b *Breakpoint) (acts, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[b.ID] != b {
		return false, false
	}
	b.seen++
	acts = b.seen > b.Spec.GetAfter()
	if acts {
		b.hits++
	}
	over := acts && b.Spec.GetTimes() > 0 && b.hits >= b.Spec.GetTimes()
	if over {
		t.drop(b)
	}
	return acts, true
}

// CountWithin counts a hit of a breakpoint that stops nobody, and reports whether it acts: not more often than the rate allows.
func (t *Table) CountWithin(most *rate.Limiter, b *Breakpoint) bool {
	if !t.IsWithin(most, b) {
		return false
	}
	acts, there := t.Count(b)
	return acts && there
}

// IsWithin reports whether a breakpoint may act now, by the rate. It counts the times that it may not.
func (t *Table) IsWithin(most *rate.Limiter, b *Breakpoint) bool {
	if most.Allow() {
		return true
	}
	t.Miss(b)
	return false
}

// Miss counts a pod on which a breakpoint could not act, and reports whether it was the first.
func (t *Table) Miss(b *Breakpoint) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.missed++
	return b.missed == 1
}
