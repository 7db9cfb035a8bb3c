//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-delve/delve/service/api"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// Delve has a program stand still by sending it SIGTRAP. If a breakpoint stops it just then,
// the signal stays pending, and a program that Delve then leaves dies of it. So drain has the
// program run once more before, without breakpoints, and stand still by that signal.
func (t *target) drain() error {
	for range mostDrains {
		if t.own != nil && !trapPending(t.pid) {
			return nil
		}
		if err := t.runAndHalt(); err != nil {
			return fmt.Errorf("take Delve's signals back: %w", err)
		}
		if t.own == nil {
			return nil // whether one is pending cannot be seen; without breakpoints none stays
		}
	}
	return errors.New("take Delve's signals back: there is always another one")
}

const (
	// mostDrains bounds how often that is done.
	mostDrains = 20
	// haltAgain is how often the program is asked to stand still.
	haltAgain = 50 * time.Millisecond
)

// runAndHalt has the program run, and stand still.
func (t *target) runAndHalt() error {
	done := make(chan error, 1)
	go func() {
		_, err := t.run(api.DebuggerCommand{Name: api.Continue})
		done <- err
	}()
	for began := time.Now(); time.Since(began) < answerWithin; {
		select {
		case err := <-done:
			return err
		case <-time.After(haltAgain):
			go func() { _ = t.halt() }()
		}
	}
	return errSlow
}

var errSlow = fmt.Errorf("no answer of Delve came within %v", answerWithin)

// trapPending reports whether a process has a SIGTRAP still to come, as a whole.
func trapPending(pid int) bool {
	return park.Pending(fmt.Sprintf("/proc/%d", pid), "ShdPnd", unix.SIGTRAP)
}
