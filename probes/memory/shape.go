package memory

import "fmt"

// Shape is what a program's table of functions shows of a function's source. By it a kubelet is recognised that was built
// from another source than its version says, such as a fork.
type Shape struct {
	// Line is the line at which the function begins in its file.
	Line int
	// Arguments is how many bytes arguments and results take in the caller's frame on amd64, with the room for those that
	// are in registers.
	Arguments int
}

const shapeForm = "line %d, %d bytes"

func (s Shape) String() string { return fmt.Sprintf(shapeForm, s.Line, s.Arguments) }

// Shape returns the shape of a step's function. ok is false if the table does not have it.
func (t *Table) Shape(step string) (s Shape, ok bool) {
	v, ok := t.Value(step, Symbol, Function)
	if !ok {
		return s, false
	}
	_, err := fmt.Sscanf(v.Words, shapeForm, &s.Line, &s.Arguments)
	return s, err == nil
}
