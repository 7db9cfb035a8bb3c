package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A nest is an OS thread, perhaps with a mount namespace of its own, that starts the parts of the lab. The parts
// inherit the namespace, and they die with the thread: Pdeathsig means the thread that started a process, not that
// thread's process.
type nest struct {
	jobs  chan func()
	quit  chan struct{}
	ended chan struct{}
}

// errStopping is returned when a part is to be started while the lab ends.
var errStopping = errors.New("the lab is ending")

// newNest makes the thread and calls enter on it.
func newNest(enter func() error) (*nest, error) {
	n := &nest{jobs: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{})}
	made := make(chan error)
	go n.settle(enter, made)
	if err := <-made; err != nil {
		return nil, fmt.Errorf("prepare the node: %w", err)
	}
	return n, nil
}

func (n *nest) settle(enter func() error, made chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// The main thread does not end before the process, and stands for it in /proc. It is kept busy until another
		// thread is found.
		settled := make(chan error)
		go n.settle(enter, settled)
		err := <-settled
		runtime.UnlockOSThread()
		made <- err
		return
	}
	// The thread is never unlocked: it ends with this function, and its namespace with it.
	defer close(n.ended)
	if err := enter(); err != nil {
		made <- err
		return
	}
	made <- nil
	for {
		select {
		case job := <-n.jobs:
			job()
		case <-n.quit:
			return
		}
	}
}

// do calls f on the nest's thread and waits for it.
func (n *nest) do(f func()) error {
	done := make(chan struct{})
	select {
	case n.jobs <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-n.quit:
		return errStopping
	}
}

// close ends the thread. The kernel kills the parts that it started.
func (n *nest) close() {
	close(n.quit)
	<-n.ended
}
