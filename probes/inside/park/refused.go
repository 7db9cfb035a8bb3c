package park

import "fmt"

// Place is a place where goroutines can be parked.
type Place struct {
	// Address is the address of an instruction, as the program was linked. A probe there stops the thread behind it,
	// at Next.
	Address, Next uint64
	// Function is the name of the function that it is in.
	Function string
}

// Reason is why a goroutine cannot be parked at a place, or now.
type Reason string

// The reasons why a goroutine is not parked.
const (
	// NoFunction: the address is no instruction of a function.
	NoFunction Reason = "no function"
	// NotStraight: behind the probed instruction the program goes on elsewhere.
	NotStraight Reason = "not straight"
	// Elsewhere: the place is neither a function's entry nor one of its exits.
	Elsewhere Reason = "elsewhere"
	// Floats: the function has floating-point numbers for arguments or results, which would be lost.
	Floats Reason = "floating-point numbers"
	// InRuntime: the function is one of Go's runtime, in which no goroutine may be stopped.
	InRuntime Reason = "in the runtime"
	// UnsafePoint: the compiler wrote that no goroutine may be stopped there.
	UnsafePoint Reason = "unsafe point"
	// NoGoroutine: the thread runs no goroutine, or its stack cannot be walked.
	NoGoroutine Reason = "no goroutine"
	// LittleStack: what is left of the goroutine's stack is too little.
	LittleStack Reason = "little stack"
	// Failed: the kernel refused something.
	Failed Reason = "failed"
)

// RefusedError states why a goroutine is not parked. It goes on, and nothing was changed.
type RefusedError struct {
	Reason Reason
	Text   string
}

func (e *RefusedError) Error() string { return e.Text }

func refuse(r Reason, format string, args ...any) *RefusedError {
	return &RefusedError{r, fmt.Sprintf(format, args...)}
}
