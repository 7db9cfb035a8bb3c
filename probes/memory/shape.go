package memory

import "fmt"

// Shape is what a program's table of functions shows of a function's source. By it a kubelet is recognised that was built
// from another source than its version says, such as a fork.
type Shape struct {
	// Line is the line at which the function begins in its file.
	Line int
	// AMD64 and ARM64 are how many bytes arguments and results take in the caller's frame, with the room for those that
	// are in registers.
	AMD64, ARM64 int
}

const (
	shapeForm = "line %d, %d bytes"
	armForm   = ", %d on arm64"
)

func (s Shape) String() string {
	text := fmt.Sprintf(shapeForm, s.Line, s.AMD64)
	if s.ARM64 != s.AMD64 {
		text += fmt.Sprintf(armForm, s.ARM64)
	}
	return text
}

// Arguments returns how many bytes arguments and results take on an architecture, as Go names it.
func (s Shape) Arguments(arch string) int {
	if arch == "arm64" {
		return s.ARM64
	}
	return s.AMD64
}

// Shape returns the shape of a step's function. ok is false if the table does not have it.
func (t *Table) Shape(step string) (s Shape, ok bool) {
	v, ok := t.Value(step, Symbol, Function)
	if !ok {
		return s, false
	}
	n, err := fmt.Sscanf(v.Words, shapeForm+armForm, &s.Line, &s.AMD64, &s.ARM64)
	if n == 2 { // the same on both
		s.ARM64, err = s.AMD64, nil
	}
	return s, err == nil
}
