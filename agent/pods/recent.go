package pods

import "sync/atomic"

// recentPods finds pods by uid without the table's lock, if they were looked for lately, as nearly every step's pod
// was. It has one place for each of some values of the uid's end; the latest pod takes the place.
type recentPods[S any] [256]atomic.Pointer[Entry[S]]

func (r *recentPods[S]) slot(uid string) *atomic.Pointer[Entry[S]] {
	n := len(uid)
	if n < 2 {
		return &r[0]
	}
	return &r[uid[n-1]^uid[n-2]<<4]
}

// find returns a pod, or nil if it is not among the recent ones.
func (r *recentPods[S]) find(uid string) *Entry[S] {
	if p := r.slot(uid).Load(); p != nil && p.UID == uid {
		return p
	}
	return nil
}

// add is called with the table's lock held for reading, clear with it held for writing. So add never brings back a pod
// that the table has just forgotten.
func (r *recentPods[S]) add(p *Entry[S]) { r.slot(p.UID).Store(p) }

func (r *recentPods[S]) clear() {
	for i := range r {
		r[i].Store(nil)
	}
}
