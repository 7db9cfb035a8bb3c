// Package holdproc is the hold process: the one that has goroutines of a running kubelet
// wait (package park) where podstep wants a pod held. It does nothing else.
//
// While places are armed it traces the kubelet's threads. A probe in the kernel, which is
// not of this package, sends a thread park.Signal when a pod that is wanted comes to a place;
// the thread stops behind it, the hold process looks whose goroutine it is, parks it, and
// lets the thread go on. Every other signal it passes on as it came.
//
// podstep may hang, end or be killed: then the hold process lets all goroutines go and
// leaves. It may be killed itself at any moment: the kernel lets go of the threads, and
// each hold ends when its lease does.
package holdproc
