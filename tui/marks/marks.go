// Package marks keeps what a person has marked: pods on which keys act together, and bookmarks at rows of a story
// and at events. Marks last as long as the screen. The bookmarks of a recording last until they are taken away.
package marks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/podstep/podstep/probes"
)

// Pods are the marked pods, in the order in which they were marked.
type Pods struct{ list []probes.Pod }

// Toggle marks a pod, or takes its mark away. It reports whether the pod is marked now.
func (p *Pods) Toggle(pod probes.Pod) bool {
	if i := p.index(pod.UID); i >= 0 {
		p.list = slices.Delete(p.list, i, i+1)
		return false
	}
	p.list = append(p.list, pod)
	return true
}

func (p *Pods) index(uid string) int {
	return slices.IndexFunc(p.list, func(o probes.Pod) bool { return o.UID == uid })
}

// Has reports whether the pod of that uid is marked.
func (p *Pods) Has(uid string) bool { return uid != "" && p.index(uid) >= 0 }

// All returns the marked pods.
func (p *Pods) All() []probes.Pod { return slices.Clone(p.list) }

// Len returns how many pods are marked.
func (p *Pods) Len() int { return len(p.list) }

// Clear takes all marks away.
func (p *Pods) Clear() { p.list = nil }

// Each calls do for all things at once, and returns when all calls have returned: the results of those that
// succeeded, and the errors of the others, each with the thing's name. Cancelling ctx gives up the calls that go on.
func Each[T, R any](ctx context.Context, all []T, name func(T) string, do func(context.Context, T) (R, error)) (done []R, err error) {
	var wait sync.WaitGroup
	results, errs := make([]R, len(all)), make([]error, len(all))
	for i, one := range all {
		wait.Go(func() { results[i], errs[i] = do(ctx, one) })
	}
	wait.Wait()
	for i := range all {
		switch {
		case errs[i] == nil:
			done = append(done, results[i])
		case errors.Is(errs[i], context.Canceled):
			err = errors.Join(err, errs[i])
		default:
			err = errors.Join(err, fmt.Errorf("%s: %w", name(all[i]), errs[i]))
		}
	}
	return done, err
}

// Bookmark is a place to come back to.
type Bookmark struct {
	// Pos is the position of its event in the session: the order of bookmarks.
	Pos int
	// UID and Row name a row in the story of a pod. Both are empty for an event. The story of the node itself has no
	// uid.
	UID, Row string

	// restored: the bookmark is from a file, and the row of that name may be a different one here.
	restored bool
}

// Bookmarks are the places, in the order of the session.
type Bookmarks struct{ list []Bookmark }

// same reports whether two bookmarks are one. Rows are compared by name, because the first event of a row may
// change.
func same(a, b Bookmark) bool {
	named := a.Row != "" && !a.restored && !b.restored
	return a.Row == b.Row && a.UID == b.UID && (named || a.Pos == b.Pos)
}

// Toggle sets a bookmark, or takes it away. It reports whether the bookmark is set now.
func (b *Bookmarks) Toggle(m Bookmark) bool {
	if i := slices.IndexFunc(b.list, func(o Bookmark) bool { return same(o, m) }); i >= 0 {
		b.list = slices.Delete(b.list, i, i+1)
		return false
	}
	at, _ := slices.BinarySearchFunc(b.list, m, func(o, m Bookmark) int { return cmp.Or(cmp.Compare(o.Pos, m.Pos), -1) })
	b.list = slices.Insert(b.list, at, m)
	return true
}

// Has reports whether there is a bookmark at a row or an event.
func (b *Bookmarks) Has(m Bookmark) bool {
	return slices.ContainsFunc(b.list, func(o Bookmark) bool { return same(o, m) })
}

// Len returns how many bookmarks there are.
func (b *Bookmarks) Len() int { return len(b.list) }

// Next returns the bookmark after a place, or the one before it if dir is negative, and round, and its number from
// 1. Ok is false if there is none.
func (b *Bookmarks) Next(here Bookmark, dir int) (m Bookmark, k int, ok bool) {
	n := len(b.list)
	if n == 0 {
		return m, 0, false
	}
	at := slices.IndexFunc(b.list, func(o Bookmark) bool { return same(o, here) })
	switch {
	case at >= 0 && dir > 0:
		at++
	case at >= 0:
		at--
	default:
		at, _ = slices.BinarySearchFunc(b.list, here, func(o, m Bookmark) int { return cmp.Compare(o.Pos, m.Pos) })
		if dir < 0 {
			at--
		}
	}
	at = (at + n) % n
	return b.list[at], at + 1, true
}
