package compare

import (
	"cmp"
	"slices"
	"time"
)

// Result has what two stories have in common, and where they differ.
type Result struct {
	A, B *Story
	// Times shows where the time went, by step, the largest difference first.
	Times []Times
	// Pairs are the notable steps of both stories, in order. In a pair one step is nil if only the other story has
	// the step.
	Pairs []Pair
	// Parts is the place in Pairs at which the stories part first, or -1. Fails is the place of the first step that
	// failed in only one of them, or -1.
	Parts, Fails int
}

// Times has the times of the calls of one step.
type Times struct {
	Key
	A, B           time.Duration
	CallsA, CallsB int
}

// More returns how much more time the step took in the second story.
func (t *Times) More() time.Duration { return t.B - t.A }

// Pair is a step of both stories, or of one.
type Pair struct {
	A, B *Step
	// Turn is the turn that has the step, of the first story if both have it.
	Turn *Turn
}

// Differs reports whether the step is in one story only, or failed in one only.
func (p *Pair) Differs() bool { return p.A == nil || p.B == nil || p.A.Failed != p.B.Failed }

// Step returns the step of the first story, or else of the second.
func (p *Pair) Step() *Step {
	if p.A != nil {
		return p.A
	}
	return p.B
}

// Compare lays two stories side by side.
func Compare(a, b *Story) *Result {
	a, b = paired(a, b)
	r := &Result{A: a, B: b, Times: times(a, b), Pairs: pairs(a, b)}
	r.Parts = slices.IndexFunc(r.Pairs, func(p Pair) bool { return p.Differs() })
	r.Fails = slices.IndexFunc(r.Pairs, func(p Pair) bool { return failed(p.A) != failed(p.B) })
	return r
}

func failed(s *Step) bool { return s != nil && s.Failed }

func times(a, b *Story) []Times {
	all := map[Key]*Times{}
	at := func(k Key) *Times {
		if all[k] == nil {
			all[k] = &Times{Key: k}
		}
		return all[k]
	}
	for i := range a.Steps {
		t := at(a.Steps[i].Key)
		t.A += a.Steps[i].Took
		t.CallsA++
	}
	for i := range b.Steps {
		t := at(b.Steps[i].Key)
		t.B += b.Steps[i].Took
		t.CallsB++
	}
	outside := at(Key{})
	outside.A, outside.B = a.Outside, b.Outside
	out := make([]Times, 0, len(all))
	for _, t := range all {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y Times) int {
		return cmp.Or(cmp.Compare(y.More().Abs(), x.More().Abs()), cmp.Compare(y.A+y.B, x.A+x.B), cmp.Compare(x.Step, y.Step), cmp.Compare(x.Of, y.Of))
	})
	return out
}

// These bound what is aligned. Beyond them, turns and steps are paired by their place.
const (
	mostTurns     = 200
	mostTurnSteps = 1000
)

// pairs aligns the turns of both stories, and then the steps of each two turns that belong together.
func pairs(a, b *Story) (out []Pair) {
	only := func(s *Story, t *Turn, first bool) {
		for _, i := range notable(s, t) {
			p := Pair{Turn: t}
			if p.B = &s.Steps[i]; first {
				p.A, p.B = p.B, nil
			}
			out = append(out, p)
		}
	}
	align(len(a.Turns), len(b.Turns), mostTurns, func(i, j int) int { return alike(a, b, &a.Turns[i], &b.Turns[j]) }, func(i, j int) {
		switch {
		case j < 0:
			only(a, &a.Turns[i], true)
		case i < 0:
			only(b, &b.Turns[j], false)
		default:
			out = append(out, steps(a, b, &a.Turns[i], &b.Turns[j])...)
		}
	})
	return out
}

func steps(a, b *Story, ta, tb *Turn) (out []Pair) {
	as, bs := notable(a, ta), notable(b, tb)
	same := func(i, j int) int {
		x, y := &a.Steps[as[i]], &b.Steps[bs[j]]
		switch {
		case x.Key != y.Key:
			return 0
		case x.Failed != y.Failed:
			return 1
		}
		return 2
	}
	align(len(as), len(bs), mostTurnSteps, same, func(i, j int) {
		p := Pair{Turn: ta}
		if i >= 0 {
			p.A = &a.Steps[as[i]]
		}
		if j >= 0 {
			p.B = &b.Steps[bs[j]]
		}
		out = append(out, p)
	})
	return together(out)
}

// together pairs steps that ran beside the worker, whatever their place in each turn.
func together(pairs []Pair) []Pair {
	gone := map[int]bool{}
	for i := range pairs {
		p := &pairs[i]
		if gone[i] || p.A != nil && p.B != nil || !p.Step().OffWorker {
			continue
		}
		for j := i + 1; j < len(pairs); j++ {
			q := &pairs[j]
			if gone[j] || q.Step().Key != p.Step().Key || (q.A == nil) == (p.A == nil) || q.A != nil && q.B != nil {
				continue
			}
			if p.A == nil {
				p.A = q.A
			} else {
				p.B = q.B
			}
			gone[j] = true
			break
		}
	}
	out := pairs[:0]
	for i, p := range pairs {
		if !gone[i] {
			out = append(out, p)
		}
	}
	return out
}

// alike returns how much two turns have in common; 0: they do not belong together.
func alike(a, b *Story, ta, tb *Turn) int {
	if ta.Kind != tb.Kind {
		return 0
	}
	type outcome struct {
		Key
		failed bool
	}
	steps, outcomes := map[Key]int{}, map[outcome]int{}
	for _, i := range notable(a, ta) {
		steps[a.Steps[i].Key]++
		outcomes[outcome{a.Steps[i].Key, a.Steps[i].Failed}]++
	}
	score := 1
	for _, j := range notable(b, tb) {
		x := &b.Steps[j]
		if steps[x.Key] > 0 {
			steps[x.Key]--
			score++
		}
		if o := (outcome{x.Key, x.Failed}); outcomes[o] > 0 {
			outcomes[o]--
			score++
		}
	}
	return score
}

func notable(s *Story, t *Turn) (out []int) {
	for _, i := range t.Steps {
		if s.Steps[i].Notable {
			out = append(out, i)
		}
	}
	return out
}

// align pairs the members of two sequences in their order, so that the sum of the pairs' scores is the largest.
// Members with a score of 0 are no pair. align calls each with the places in order; -1 stands for no member. Of
// sequences longer than most it aligns the first members, and pairs the others by their place.
func align(n, m, most int, score func(i, j int) int, each func(i, j int)) {
	cn, cm := min(n, most), min(m, most)
	best := make([][]int32, cn+1)
	for i := range best {
		best[i] = make([]int32, cm+1)
	}
	for i := cn - 1; i >= 0; i-- {
		for j := cm - 1; j >= 0; j-- {
			v := max(best[i+1][j], best[i][j+1])
			if s := score(i, j); s > 0 {
				v = max(v, best[i+1][j+1]+int32(s))
			}
			best[i][j] = v
		}
	}
	i, j := 0, 0
	for i < cn && j < cm {
		s := score(i, j)
		switch {
		case s > 0 && best[i][j] == best[i+1][j+1]+int32(s):
			each(i, j)
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			each(i, -1)
			i++
		default:
			each(-1, j)
			j++
		}
	}
	for ; i < cn; i++ {
		each(i, -1)
	}
	for ; j < cm; j++ {
		each(-1, j)
	}
	for k := range max(n-cn, m-cm) {
		i, j := cn+k, cm+k
		switch {
		case i >= n:
			each(-1, j)
		case j >= m:
			each(i, -1)
		case score(i, j) > 0:
			each(i, j)
		default:
			each(i, -1)
			each(-1, j)
		}
	}
}
