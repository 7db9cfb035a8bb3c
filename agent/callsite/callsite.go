package callsite

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/podstep/podstep/probes"
)

// The stack is looked up in parts of partFrames frames, since each frame takes time: the first part has podstep's own
// frames and those of most calls. parts bounds how far up to look, past the kubelet's frames between two steps.
const partFrames, parts = 8, 2

// maxPlaces bounds the places that are remembered. A kubelet has a few hundred of them.
const maxPlaces = 2048

// own are the prefixes of podstep's functions, which stand on the stack between a step and Line.
var own = [...]string{"github.com/podstep/podstep/agent.", "github.com/podstep/podstep/probes/hook."}

// place is where a function is called.
type place struct {
	outer string
	line  uint32
	own   bool // the function is podstep's
}

// places has the places by return address, innermost first. An address has several where the compiler inlined
// functions. The map never changes: the kubelet's goroutines read it without a lock, and remember replaces it by
// another map.
var (
	places  atomic.Pointer[map[uintptr][]place]
	writing sync.Mutex
)

// Line returns the line from which the function with this symbol called the step whose woven code is on the stack. It
// is the innermost line in that function or in a closure of it. A call of several lines is at its last. Zero: the
// function is not near on the stack of this goroutine.
func Line(symbol string) uint32 {
	var pcs [partFrames]uintptr
	callee := false // the frame of the step's own function was passed
	for part := range parts {
		n := runtime.Callers(2+part*partFrames, pcs[:]) // from the caller's frame up
		for _, pc := range pcs[:n] {
			for _, p := range placesOf(pc) {
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

// maxStack bounds the functions of a stack.
const maxStack = 64

// Stack returns the functions under way on this goroutine, from the innermost one with this symbol, or a closure of it,
// outwards. podstep's own are left out. It is empty if that function is not near on the stack.
func Stack(symbol string) (out []runtime.Frame) {
	var pcs [maxStack]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !isOwn(f.Function) && (len(out) > 0 || probes.Outer(f.Function) == symbol) {
			out = append(out, f)
		}
	}
	return out
}

func isOwn(function string) bool {
	return strings.HasPrefix(function, own[0]) || strings.HasPrefix(function, own[1])
}

// placesOf returns the places of the call with this return address.
func placesOf(pc uintptr) []place {
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
