// Package rescue keeps a kubelet alive when the debugger process that has put breakpoints into it dies or hangs.
//
// A breakpoint is an INT3 in the kubelet's code. Without a tracer, the kernel sends SIGTRAP to a thread that comes to
// one, and Go's runtime ends the program. So before there is a breakpoint, Install puts a net below the kubelet: a
// handler of SIGTRAP in memory of its own, with a list of the breakpoints' addresses and original bytes. As long as a
// tracer is there, it takes every SIGTRAP, and the handler never runs. Without one, the handler writes the original
// byte back and repeats the instruction.
//
// The rescuer process guards the debugger process. When the debugger process has ended, is silent, or keeps the
// kubelet stopped, the rescuer writes all original bytes back, ends it, and takes the net away.
package rescue
