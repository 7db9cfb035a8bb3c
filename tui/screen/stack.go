package screen

// Stack is what a debugger knows about the goroutine of a held pod.
type Stack struct {
	// Lines say where the pod is held, and how long the answer took.
	Lines []string
	// Error says why the last question has no answer.
	Error string
	// Frames are the functions under way, the innermost first. Frame is the chosen one.
	Frames []StackFrame
	Frame  int
	// Logs: a log can be set at the line of the chosen frame.
	Logs bool
	// Steps: the pod can be stepped by line. Goroutines is how many goroutines the pod has.
	Steps      bool
	Goroutines int
	// Values belong to the chosen frame, one a line. Top is the first line that is shown.
	Values []StackValue
	Top    int
}

// StackFrame is a function that is under way, and where.
type StackFrame struct{ Function, Place string }

// StackValue is a line: a variable, a heading, a line of the source, or only text.
type StackValue struct {
	Name, Text string
	Heading    bool
	// Number is the number of a source line. Here: the function is at that line.
	Number int
	Here   bool
	// Point says what breakpoints do at that line. Its last values are a line of their own, with Logged set.
	Point  Point
	Logged bool
}
