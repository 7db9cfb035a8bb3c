// Package park makes one goroutine of another process wait, while all others go on. The process runs a Go program
// that knows nothing of podstep and may be stripped.
//
// A thread of the program stands still in a ptrace stop, at a place where the runtime may stop its goroutine. Park
// makes it as if the goroutine had made a system call there, a ppoll of no files with a deadline: it writes the
// call's frames below the goroutine's stack pointer, and sets the registers to the entry of syscall.Syscall6. From
// there on the scheduler and the garbage collector see a goroutine in a system call. The kernel ends the wait at the
// deadline, whether the process that parked the goroutine still lives or not. Then the goroutine goes on where it
// was.
//
// A return from Syscall6 would not keep the registers. So the call's caller is runtime.debugCallV2, the function by
// which debuggers call functions. The garbage collector looks at the registers in its frame, and the code behind its
// last INT3 restores them from there. The goroutine returns into debugCallV2 and never calls it. So no INT3 is ever
// run, and the program never needs a debugger. docs/adr/0019 has all of it.
//
// Signal, sent to its thread by any process that may, lets the goroutine go at once. If it comes late it does
// nothing. All other signals are blocked while the thread waits, except the one by which every thread is to make a
// system call. That one lets the goroutine go, too.
package park
