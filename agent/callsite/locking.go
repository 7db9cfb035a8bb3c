package callsite

import (
	"runtime"

	"github.com/podstep/podstep/probes"
)

// Locking are the functions of a kubelet of another version than the catalogue's. People have read which locks are held in
// the catalogue's version. Of others the source tells which functions take a lock.
type Locking struct {
	worker string          // the function in which a pod's worker spends its life
	locks  map[string]bool // functions that take a lock
}

// NewLocking returns nil if there is no list of such functions.
func NewLocking(worker string, locks []string) *Locking {
	if locks == nil {
		return nil
	}
	l := &Locking{worker: worker, locks: map[string]bool{}}
	for _, symbol := range locks {
		l.locks[symbol] = true
	}
	return l
}

// Free reports whether the calling goroutine is a worker, and no function is under way in it that takes a lock. What called
// the worker does not count: a lock that is held for as long as a pod lives would let no second pod live.
func (l *Locking) Free() bool {
	if l == nil {
		return true
	}
	pcs := make([]uintptr, 256)
	n := runtime.Callers(2, pcs)
	if n == len(pcs) {
		return false // what is below is not known
	}
	for frames := runtime.CallersFrames(pcs[:n]); ; {
		frame, more := frames.Next()
		switch {
		case l.takes(frame.Function):
			return false
		case frame.Function == l.worker:
			return true
		case !more:
			return false
		}
	}
}

// takes reports whether a function takes a lock. A function literal counts as the function that it is in.
func (l *Locking) takes(function string) bool {
	return probes.IsInFunction(function, func(name string) bool { return l.locks[name] })
}
