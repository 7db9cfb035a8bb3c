// Package park has one goroutine of another process wait, while all others go on. The
// process runs a Go program that knows nothing of it and may be stripped.
//
// A thread of the program stands still in a ptrace stop, at a place where the runtime may
// stop its goroutine. Park makes it as if the goroutine had made a system call there, a
// ppoll of no files with a deadline: it writes the call's frames below the goroutine's stack
// pointer, and sets the registers to the entry of syscall.Syscall6. From there on the
// goroutine is, for the scheduler and the garbage collector, any goroutine in a system
// call. The kernel ends the wait at the deadline, whoever has asked for it and whether
// that one still lives; then the goroutine goes on where it was.
//
// The registers are what a return from Syscall6 would not keep. So the call's caller is
// runtime.debugCallV2, the function by which debuggers call functions: the garbage
// collector looks at the registers in its frame, and what is behind its last INT3 takes
// them back from there. It is returned into, and never called: no INT3 is ever run, and
// there is no time at which the program needs a debugger. docs/adr/0019 has the whole.
//
// A signal lets the goroutine go at once: Signal to its thread, by anybody who may send
// one. One that comes late does nothing. All others are blocked while the thread waits,
// but for the one by which each thread is to make a system call; it lets the goroutine go, too.
package park
