package callsite

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/podstep/podstep/probes"
)

// The stack is looked up in parts of as many frames, as each takes time: podstep's own and those
// of most calls are in the first. parts bounds how far up is looked, through what the kubelet
// has between two steps.
const partFrames, parts = 8, 2

// maxPlaces bounds the places that are remembered. A kubelet has a few hundred of them.
const maxPlaces = 2048

// own begin the names of podstep's functions, which stand on the stack between a step and
// Line.
var own = [...]string{"github.com/podstep/podstep/agent.", "github.com/podstep/podstep/probes/hook."}

// place is where a function is called: in which function or literal of a function, at which
// line of its file.
type place struct {
	outer string
	line  uint32
	own   bool // it is podstep's
}

// places are the places at return addresses, innermost first: one address stands for several
// where the compiler put functions into their callers. The map does not change: the kubelet's
// goroutines read it without a lock, and whoever adds a place makes another map.
var (
	places  atomic.Pointer[map[uintptr][]place]
	writing sync.Mutex
)

// Line is the line from which the function around a call, whose symbol is given, called the
// step whose woven code is on the stack: the innermost line that is in the function or in a
// closure of it. A call of several lines is at its last, where it is made. Zero: the function
// is not near on the stack of this goroutine.
func Line(symbol string) uint32 {
	var pcs [partFrames]uintptr
	callee := false // the step's own function was passed
	for part := range parts {
		n := runtime.Callers(2+part*partFrames, pcs[:]) // the caller's, and up
		for _, pc := range pcs[:n] {
			for _, p := range at(pc) {
				switch {
				case p.own:
				case !callee:
					callee = true
				case p.outer == symbol:
					return p.line
				}
			}
		}
	}
	return 0
}

func isOwn(function string) bool {
	return strings.HasPrefix(function, own[0]) || strings.HasPrefix(function, own[1])
}

// at is where the call with this return address is.
func at(pc uintptr) []place {
	if all := places.Load(); all != nil {
		if found, ok := (*all)[pc]; ok {
			return found
		}
	}
	var out []place
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" {
			out = append(out, place{probes.Outer(f.Function), uint32(max(0, f.Line)), isOwn(f.Function)})
		}
	}
	remember(pc, out)
	return out
}

func remember(pc uintptr, at []place) {
	writing.Lock()
	defer writing.Unlock()
	all := map[uintptr][]place{}
	if now := places.Load(); now != nil {
		if len(*now) >= maxPlaces {
			return
		}
		all = maps.Clone(*now)
	}
	all[pc] = at
	places.Store(&all)
}
