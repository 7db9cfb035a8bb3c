// Package callsite reads this program's own stacks and text. It finds the line of the kubelet's source from which a step
// was called: the line in the function of the call around it, read from the goroutine's stack. It finds which functions are
// under way on a goroutine, whether one of them takes a lock, and where functions begin.
//
// A function often calls another in several places. The source does not tell which of them made a call.
package callsite
