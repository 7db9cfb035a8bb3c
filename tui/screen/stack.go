package screen

// Stack is what a debugger knows of the goroutine of a held pod.
type Stack struct {
	// Lines say where the pod is held, and what the answer took.
	Lines []string
	// Error is why the last question has no answer.
	Error string
	// Frames are the functions under way, the innermost first, Frame the chosen one.
	Frames []StackFrame
	Frame  int
	// Steps: the pod can be stepped by line. Goroutines is how many of it there are.
	Steps      bool
	Goroutines int
	// Values are of the chosen frame, as lines; Top is the first that is shown.
	Values []StackValue
	Top    int
}

// StackFrame is a function that is under way, and where.
type StackFrame struct{ Function, Place string }

// StackValue is a line: a variable, a heading, a line of the source, or only text.
type StackValue struct {
	Name, Text string
	Heading    bool
	// Number is that of a line of the source; Here: the function is at it.
	Number int
	Here   bool
}
