package pods

import "sync/atomic"

// recentPods finds pods by uid as the table does, without its lock, if they were
// looked for lately: nearly every step's pod was. It has one place for each of
// some values of the uid's end, and what comes last takes it.
type recentPods[S any] [256]atomic.Pointer[Pod[S]]

func (r *recentPods[S]) at(uid string) *atomic.Pointer[Pod[S]] {
	n := len(uid)
	if n < 2 {
		return &r[0]
	}
	return &r[uid[n-1]^uid[n-2]<<4]
}

// find returns a pod, or nil if it is not among the recent ones.
func (r *recentPods[S]) find(uid string) *Pod[S] {
	if p := r.at(uid).Load(); p != nil && p.UID == uid {
		return p
	}
	return nil
}

// add and clear are called with the table's lock held, for reading and writing:
// so nothing is added that the table has just forgotten.
func (r *recentPods[S]) add(p *Pod[S]) { r.at(p.UID).Store(p) }

func (r *recentPods[S]) clear() {
	for i := range r {
		r[i].Store(nil)
	}
}
