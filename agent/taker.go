package agent

import (
	"time"
	"unsafe"

	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

const (
	// takerRoom is how many bytes of fields a call's side has room for on the
	// stack. Most need less than half; more costs an allocation.
	takerRoom = 160
	// keptRoom is the room of a span that keeps the fields of its enter.
	keptRoom = 96
)

// taker takes the values of one side of a call as woven code puts them: first
// the pods, then the fields, which it encodes at once. It is on the caller's
// stack, with room for the fields of nearly every step.
type taker struct {
	a    *Agent
	s    *span
	side int
	took int // values so far
	pods int // how many of the values, from the first, are pods

	names []wire.Name
	pod   *pod                    // if the call is about one
	list  []pods.Listed[podState] // if it is about several
	ops   map[*pod]string         // for PodUpdates: what is done to each pod
	made  string                  // the id of what the call made

	// At exit: how the call ended, and whether it did so without a word.
	how   hook.Outcome
	quiet bool

	// At entry: the retry for which a back-off was ended, and the length of that back-off.
	ended  *retry
	length time.Duration

	wire fieldBytes
	room [takerRoom]byte
}

// atEnter makes the taker ready for the values of a call that begins.
func (t *taker) atEnter(a *Agent, s *span) {
	t.a, t.s, t.side = a, s, enter
	t.pods, t.names = s.step.enterPods, s.step.enterNames
	if t.wire = s.fields()[:0]; t.wire == nil {
		t.wire = t.empty()
	}
}

// atExit makes the taker ready for the values of a call that ends.
func (t *taker) atExit(a *Agent, s *span, how hook.Outcome) {
	t.a, t.s, t.side, t.how = a, s, exit, how
	t.pods, t.names = s.step.exitPods, s.step.exitNames
	t.wire = t.empty()
}

// empty returns the room, without content. The compiler does not see that it is in t, and so leaves t on the stack.
// That is safe because only kept lets wire outlive t, and it copies it.
func (t *taker) empty() fieldBytes {
	return unsafe.Slice(hook.NoEscape(&t.room[0]), takerRoom)[:0]
}

// Quiet is told whether the call is worth no event. If it is worth none, and is not part of any story yet, Quiet ends
// it. It reports whether it did.
func (t *taker) Quiet(quiet bool) bool {
	t.quiet = quiet && t.s.endQuietly(t.how)
	return t.quiet
}

// Take takes the next value.
func (t *taker) Take(v any) {
	i := t.took
	t.took++
	if i < t.pods {
		t.takePod(i, v)
		return
	}
	if t.side == exit && t.made == "" && t.s.step.makes {
		t.made, _ = v.(string)
	}
	if i -= t.pods; i < len(t.names) {
		t.wire = t.wire.Take(&t.names[i], v)
	} else if do, is := v.(syncNow); is && t.side == enter {
		t.a.syncNow.Store(&do)
	}
}

func (t *taker) takePod(i int, v any) {
	switch src := &t.s.step.Pod; src.Kind {
	case probes.PodList, probes.PodObjects:
		t.list = t.a.pods.FromList(v, src.Kind == probes.PodObjects)
	case probes.PodUpdates:
		for _, o := range t.a.pods.FromList(v, false) {
			if t.ops == nil {
				t.ops = map[*pod]string{}
			}
			t.ops[o.Pod] = src.Updates[i].Op
			t.list = append(t.list, o)
		}
	default:
		t.pod = t.a.pods.FromValue(v)
	}
}

// takeAll takes the values of a call that is seen from outside.
func (t *taker) takeAll(values []any) {
	for _, v := range values {
		t.Take(v)
	}
}

// kept returns the fields that were taken, in memory that outlives t.
func (t *taker) kept() fieldBytes {
	if len(t.wire) == 0 {
		return nil
	}
	if &t.wire[0] == &t.room[0] {
		return append(fieldBytes(nil), t.wire...)
	}
	return t.wire
}

// keep saves the fields in the span if something is armed, since a call that is stopped here, or whose stack is kept,
// shows them. It reports whether something is armed.
func (t *taker) keep() bool {
	if t.a.holds.Armed() == 0 && !t.a.points.Snaps() {
		return false
	}
	t.save()
	return true
}

// save saves the fields that were taken in the span.
func (t *taker) save() {
	k := t.s.kept
	if k == nil {
		k = &keptFields{}
		t.s.kept = k
	}
	if t.side == exit {
		k.exit = t.kept()
	} else {
		k.enter = t.kept()
	}
}
