package dap

import "fmt"

// firstRef is the first number of a frame or of a list of variables. Zero means none to editors.
const firstRef = 1000

// maxRefs bounds the numbers that are valid. An editor that asks for more of one stop gets new ones.
const maxRefs = 1 << 16

// refs has what the numbers of frames and variables stand for. They are valid until their pod goes on.
type refs struct {
	last int
	all  map[int]ref
}

// ref is a frame, or a list of variables.
type ref struct {
	place int
	frame *frame
	nodes func() []node
	// pod: they are the fields of the pod.
	pod bool
	// call: it is a step to step into.
	call *call
}

// add gives a number to a frame or to a list of variables.
func (r *refs) add(v ref) int {
	if r.all == nil {
		r.all, r.last = map[int]ref{}, firstRef
	}
	if len(r.all) >= maxRefs {
		clear(r.all)
	}
	r.last++
	r.all[r.last] = v
	return r.last
}

// drop forgets the numbers of a pod that goes on.
func (r *refs) drop(place int) {
	for n, v := range r.all {
		if v.place == place {
			delete(r.all, n)
		}
	}
}

// frame returns a frame by its number.
func (r *refs) frame(n int) (*frame, error) {
	if v, ok := r.all[n]; ok && v.frame != nil {
		return v.frame, nil
	}
	return nil, fmt.Errorf("there is no frame %d any more: its pod has gone on", n)
}
