package companion

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread that ends with f. Then the kernel lets go of what the thread has traced. It is never the
// process's first thread, which does not end before the process does.
func OnThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked: then the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		began := make(chan struct{})
		OnThread(func() { close(began); f() })
		<-began
		runtime.UnlockOSThread()
	}()
}
