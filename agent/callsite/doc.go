// Package callsite finds the line of the kubelet's source from which a step was called:
// the line in the function of the call around it, read from the goroutine's stack.
//
// A function often calls another in several places, and which of them it was cannot be told
// from the source.
package callsite
