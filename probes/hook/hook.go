// Package hook is what woven code calls: the one piece of podstep that runs
// inside every instrumented function of the kubelet.
//
// It imports the standard library only, and knows neither steps nor pods: it
// carries calls to a Handler, which the agent sets. Until then, and for steps
// that are switched off, a woven function pays one load and one branch.
//
// The rules here protect the kubelet. A panic of the handler is caught and
// counted, never passed on. Arguments are evaluated by a closure that the hook
// calls, so that a nil pointer in them is caught too. Panics of the kubelet
// itself are seen, not recovered.
package hook

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// MaxSteps is the size of Switches, and the bound on step ids.
const MaxSteps = 512

// Switches holds, by step id, whether a woven step calls the hook, and whether it is skipped: 0 is neither. Woven
// code reads it with a plain load. So another core may see a change a little later, and nothing worse can happen.
var Switches [MaxSteps]uint32

// The bits of a switch. Woven code has them as numbers.
const (
	switchOn   = 1
	switchSkip = 2
)

// Outcome is how a woven function ended.
type Outcome uint8

const (
	// Returned: by a return statement, or by a panic that it recovered itself.
	Returned Outcome = iota
	// Panicked: a panic is on its way through the function.
	Panicked
	// Exited: runtime.Goexit is unwinding the goroutine.
	Exited
)

// Handler gets every call of a woven function whose step is on. Its methods run on the kubelet's goroutines;
// whatever they do, the kubelet does. They read values with Eval, and keep neither the values nor what the values
// put.
type Handler interface {
	// Enter is called at the top of the function. cur is the innermost span of this goroutine, or of the goroutine
	// that started it. A nil span means no interest: Leave is not called then. If there is an error and the
	// function has one to return, it returns that without doing its work.
	Enter(step int, cur *Span, values Values) (*Span, error)
	// Leave is called when the function is left, with the span Enter returned
	// and the error that the function returns.
	Leave(span *Span, how Outcome, err error, values Values)
}

var (
	handler atomic.Pointer[Handler]
	faults  atomic.Uint64
)

// Set makes h the handler; nil takes it away.
func Set(h Handler) {
	if h == nil {
		handler.Store(nil)
		return
	}
	handler.Store(&h)
}

// Switch turns one step on or off.
func Switch(step int, on bool) {
	if step < 0 || step >= MaxSteps {
		return
	}
	if on {
		atomic.OrUint32(&Switches[step], switchOn)
	} else {
		atomic.AndUint32(&Switches[step], ^uint32(switchOn))
	}
}

// Skip makes a woven function return zero results without doing its work, from now on. It must be called before the
// function can run. The program that hosts the kubelet decides it, for a place where the function cannot work.
// Steps that the catalogue does not mark with skip do their work all the same.
func Skip(step int) {
	if step >= 0 && step < MaxSteps {
		atomic.OrUint32(&Switches[step], switchSkip)
	}
}

// Faults counts the panics of handlers and of values that were caught.
func Faults() uint64 { return faults.Load() }

// Enter is called by woven code. The pointer is for Leave. It is nil if Leave has nothing to do.
func Enter(step int, values Values) (unsafe.Pointer, error) {
	h := handler.Load()
	if h == nil {
		return nil, nil
	}
	return enter(*h, step, NoEscape(values))
}

func enter(h Handler, step int, values Values) (p unsafe.Pointer, err error) {
	prev := getLabels()
	defer func() {
		if r := recover(); r != nil {
			faults.Add(1)
			p, err = nil, nil
		}
	}()
	s, err := h.Enter(step, current(prev), values)
	if s == nil {
		return nil, err
	}
	s.prev = prev
	setLabels(unsafe.Pointer(s))
	return unsafe.Pointer(s), err
}

// Leave is called by woven code, as a deferred call. fail, which may be nil, returns the error that the function
// returns. It is apart from values, so that a nil pointer among those does not cost the error.
func Leave(p unsafe.Pointer, fail func() error, values Values) {
	if p == nil {
		return
	}
	leave((*Span)(p), ending(), NoEscape(fail), NoEscape(values))
}

func leave(s *Span, how Outcome, fail func() error, values Values) {
	defer func() {
		setLabels(s.prev)
		if r := recover(); r != nil {
			faults.Add(1)
		}
	}()
	h := handler.Load()
	if h == nil {
		return
	}
	var err error
	if fail != nil {
		err = fail()
	}
	(*h).Leave(s, how, err, values)
}

// NoEscape hides a value from the compiler's escape analysis, as strings.Builder
// hides itself. Whoever uses it sees to it that what the value points at is not
// kept. The compiler would see that closures reach a Handler, and have every
// caller keep them and what they capture on the heap, at a cost even when the
// hook is off. Handlers do not keep them.
//
//go:nocheckptr
func NoEscape[F any](f F) F {
	return *(*F)(unsafe.Add(nil, uintptr(unsafe.Pointer(&f))))
}

// The runtime functions that run deferred calls when a goroutine does not
// return but unwinds.
var panicking, exiting = codeOf("runtime.gopanic"), codeOf("runtime.Goexit")

// code is where a function is in memory.
type code struct{ entry, end uintptr }

// ending returns why Leave's deferred call runs. It looks at the callers instead of calling recover, which would
// change what the kubelet prints when it crashes.
func ending() Outcome {
	if !anyFrameIn(panicking.entry, panicking.end, exiting.entry, exiting.end) {
		return Returned
	}
	// One of those is near. It is ours only if it called Leave itself.
	var pcs [1]uintptr
	// 0 Callers, 1 ending, 2 Leave, 3 the function left, or the runtime.
	if runtime.Callers(3, pcs[:]) == 0 {
		return Returned
	}
	switch entryAt(pcs[0] - 1) {
	case panicking.entry:
		return Panicked
	case exiting.entry:
		return Exited
	}
	return Returned
}

func entryAt(pc uintptr) uintptr {
	if f := runtime.FuncForPC(pc); f != nil {
		return f.Entry()
	}
	return 0
}

// codeOf finds a runtime function's code from a deferred call that the function makes.
func codeOf(name string) code {
	found := make(chan code, 1)
	Go(func() {
		defer func() { _ = recover() }()
		defer func() { found <- caller(name) }()
		if name == "runtime.Goexit" {
			runtime.Goexit()
		}
		panic("podstep looks for runtime.gopanic")
	})
	return <-found
}

func caller(name string) code {
	var pcs [8]uintptr
	for _, pc := range pcs[:runtime.Callers(1, pcs[:])] {
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Name() == name {
			end := pc
			for entryAt(end) == f.Entry() {
				end++
			}
			return code{f.Entry(), end}
		}
	}
	return code{}
}
