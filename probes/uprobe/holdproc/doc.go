// Package holdproc is the hold process. It makes goroutines of a running kubelet wait (package park) where podstep
// wants a pod held, and does nothing else.
//
// While places are armed it traces the kubelet's threads. A probe in the kernel, which is not part of this package,
// sends a thread park.Signal when a wanted pod comes to a place. The thread stops behind the place. The hold process
// looks which goroutine it is, parks it, and lets the thread go on. It passes on every other signal as it came.
//
// When podstep hangs, ends or is killed, the hold process lets all goroutines go and leaves. The hold process itself
// may be killed at any moment: the kernel then lets go of the threads, and each hold ends with its lease.
package holdproc
