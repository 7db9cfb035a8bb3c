package export

import (
	"cmp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/probes"
)

// stacks gives each moment of a pod's calls to one stack: to the innermost call that went on then. So the times add up to
// those of the outermost calls, also where calls go on at one time. There the moment goes to the call that ended first.
// What is known of a moment is passed on as soon as a call ends, so only calls that go on take memory.
type stacks struct {
	about *About
	at    map[*calls.Call]*frame
	// add takes a time and its stack.
	add func(stack)
}

// stack is where a pod spent some time: the steps, the outermost first, and at the end what was waited for, if it
// is known.
type stack struct {
	pod   *probes.Pod // nil: the node
	sync  uint32
	steps []string
	wait  string
	took  time.Duration
}

// frame is a call that goes on.
type frame struct {
	call *calls.Call
	up   *frame
	tree *tree
	// steps are the steps down to the call.
	steps []string
}

// tree is an outermost call with all that goes on in it.
type tree struct {
	begin int64
	open  []*frame // the innermost last
	taken taken
}

func newStacks(about *About, add func(stack)) *stacks {
	return &stacks{about: about, at: map[*calls.Call]*frame{}, add: add}
}

// The waits that no step of the catalogue stands for.
const waitsHeld = "a person holds the pod"

// Began opens a call.
func (s *stacks) Began(c *calls.Call) { s.open(c, c.BeginMono) }

func (s *stacks) open(c *calls.Call, begin int64) *frame {
	f := &frame{call: c, up: s.at[c.Up]}
	if c.Up == nil || f.up == nil {
		f.up, f.tree = nil, &tree{begin: begin}
		f.steps = []string{stepName(c)}
	} else {
		f.tree = f.up.tree
		f.steps = append(slices.Clip(f.up.steps), stepName(c))
	}
	f.tree.open = append(f.tree.open, f)
	s.at[c] = f
	return f
}

func stepName(c *calls.Call) string { return cmp.Or(c.Step, "unknown") }

// Ended gives the call what nothing in it took. Calls that go on in it are outermost calls from then on.
func (s *stacks) Ended(c *calls.Call) error {
	f := s.at[c]
	if f == nil {
		f = s.open(c, c.BeginMono)
	}
	i := slices.Index(f.tree.open, f)
	var inner []*frame
	for j := len(f.tree.open) - 1; j > i; j-- {
		if other := f.tree.open[j]; other.within(f) {
			s.settle(other, c.EndMono)
			inner = append(inner, other)
		}
	}
	s.settle(f, c.EndMono)
	f.tree.open = slices.DeleteFunc(f.tree.open, func(o *frame) bool { return o.within(f) })
	delete(s.at, c)
	slices.Reverse(inner)
	for _, other := range inner {
		s.detach(other, f, c.EndMono)
	}
	f.tree.forget()
	return nil
}

// within reports whether the call is another one, or goes on in it.
func (f *frame) within(up *frame) bool {
	for ; f != nil; f = f.up {
		if f == up {
			return true
		}
	}
	return false
}

// settle gives a call what nobody has taken of the time until a moment. A hold on entry comes before all else in it.
func (s *stacks) settle(f *frame, until int64) {
	c := f.call
	for i := range c.Holds {
		if h := &c.Holds[i]; !h.Over || h.Length > 0 {
			end := h.Mono + int64(h.Length)
			if !h.Over && h.Length == 0 {
				end = until
			}
			s.take(f, h.Mono, min(end, until), waitsHeld)
		}
	}
	wait := ""
	if step := s.about.Catalogue.Step(c.Step); step != nil {
		wait = step.Story.Waits.En
	}
	s.take(f, c.BeginMono, until, wait)
}

func (s *stacks) take(f *frame, from, until int64, wait string) {
	if d := f.tree.taken.take(max(from, f.tree.begin), until); d > 0 {
		s.add(stack{pod: f.call.Pod, sync: f.call.Sync, steps: f.steps, wait: wait, took: time.Duration(d)})
	}
}

// detach makes a call that outlives the call around it an outermost one, or one in such a call. The time before is given
// already.
func (s *stacks) detach(f, from *frame, at int64) {
	if f.up == from {
		f.up, f.tree, f.steps = nil, &tree{begin: at}, []string{stepName(f.call)}
	} else {
		f.tree, f.steps = f.up.tree, append(slices.Clip(f.up.steps), stepName(f.call))
	}
	f.tree.open = append(f.tree.open, f)
}

// Held gives the time of a hold on exit to the call around the one that was held.
func (s *stacks) Held(c *calls.Call, h *calls.Hold) error {
	f := s.at[c.Up]
	if c.Up == nil || f == nil {
		f = &frame{call: c, tree: &tree{begin: h.Mono}}
	}
	held := &frame{call: c, tree: f.tree, steps: append(slices.Clip(f.steps), stepName(c))}
	s.take(held, h.Mono, h.Mono+int64(h.Length), waitsHeld)
	return nil
}

// Marked does nothing: such an event takes no time.
func (s *stacks) Marked(*probes.Event) error { return nil }

// forget drops what was taken if only the outermost call goes on. What comes later is not from before.
func (t *tree) forget() {
	if len(t.open) == 1 {
		t.taken.forget()
	}
}

// interval is the time from its begin until its end, in nanoseconds of the agent's clock.
type interval struct{ begin, end int64 }

// taken are times that somebody has taken, in order and apart from each other.
type taken struct {
	all []interval
	// took is the sum of those that were forgotten, all of which ended by before. first is when the first of them began.
	took, first, before int64
}

// take takes what nobody has taken yet between two times, and returns how much that is.
func (t *taken) take(from, until int64) (free int64) {
	if until <= from {
		return 0
	}
	free = until - from
	if t.before > 0 && until > t.first {
		if from <= t.first && until >= t.before {
			free -= t.took
			t.took, t.before = 0, 0 // the new one covers them
		} else {
			// It was reported late, of a time that is settled.
			from = min(until, max(from, t.before))
			free = until - from
		}
	}
	lo, _ := slices.BinarySearchFunc(t.all, from, func(s interval, at int64) int { return cmp.Compare(s.end, at) })
	hi := lo
	whole := interval{from, until}
	for ; hi < len(t.all) && t.all[hi].begin <= until; hi++ {
		s := t.all[hi]
		free -= max(0, min(s.end, until)-max(s.begin, from))
		whole = interval{min(whole.begin, s.begin), max(whole.end, s.end)}
	}
	t.all = slices.Replace(t.all, lo, hi, whole)
	return max(0, free)
}

// forget keeps only the sum of what was taken.
func (t *taken) forget() {
	for _, s := range t.all {
		if t.before == 0 {
			t.first = s.begin
		}
		t.took += s.end - s.begin
		t.before = max(t.before, s.end)
	}
	t.all = t.all[:0]
}
