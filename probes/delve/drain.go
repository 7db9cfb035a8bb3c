//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-delve/delve/service/api"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/park"
)

// Delve makes a program stand still by sending it SIGTRAP. If a breakpoint stops the program just then, the signal
// stays pending. A program that Delve then leaves dies of it. So before Delve leaves, drain lets the program run
// without breakpoints, until the signal makes it stand still.
func (t *target) drain() error {
	for range mostDrains {
		if t.own != nil && !trapPending(t.pid) {
			return nil
		}
		if err := t.runAndHalt(); err != nil {
			return fmt.Errorf("take Delve's signals back: %w", err)
		}
		if t.own == nil {
			return nil // it cannot be seen whether a signal is pending; without breakpoints none stays
		}
	}
	return errors.New("take Delve's signals back: there is always another one")
}

const (
	// mostDrains bounds how often drain lets the program run.
	mostDrains = 20
	// haltAgain is how often the program is asked to stand still.
	haltAgain = 50 * time.Millisecond
)

// runAndHalt lets the program run, and makes it stand still.
func (t *target) runAndHalt() error {
	done := make(chan error, 1)
	go func() { done <- safely(t.goOnOnce) }()
	for began := time.Now(); time.Since(began) < answerWithin; {
		select {
		case err := <-done:
			return err
		case <-time.After(haltAgain):
			go func() { _ = safely(t.halt) }()
		}
	}
	return errSlow
}

// goOnOnce lets the program run until it stands still.
func (t *target) goOnOnce() error {
	_, err := t.run(api.DebuggerCommand{Name: api.Continue})
	return err
}

var errSlow = fmt.Errorf("no answer of Delve came within %v", answerWithin)

// trapPending reports whether a process as a whole has a SIGTRAP pending.
func trapPending(pid int) bool {
	return park.Pending(fmt.Sprintf("/proc/%d", pid), "ShdPnd", unix.SIGTRAP)
}
