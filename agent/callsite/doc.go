// Package callsite finds the line of the kubelet's source from which a step was called: the line in the function of the
// call around it, read from the goroutine's stack.
//
// A function often calls another in several places. The source does not tell which of them made a call.
package callsite
