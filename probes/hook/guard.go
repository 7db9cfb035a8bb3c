package hook

import (
	"context"
	"time"
)

// Guard calls f. A panic in f ends f, is counted, and goes no further; Guard
// then returns false.
func Guard(f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			CountFault()
			ok = false
		}
	}()
	f()
	return true
}

// CountFault counts a panic that was caught elsewhere.
func CountFault() { faults.Add(1) }

// Go calls f on a goroutine of its own, guarded. A panic that nobody recovers
// ends the whole kubelet, so all of podstep's goroutines in it begin here; a
// test of the house looks for others. The same goes for AfterFunc and AfterDone.
func Go(f func()) { go Guard(f) }

// AfterFunc is time.AfterFunc, guarded.
func AfterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { Guard(f) })
}

// AfterDone is context.AfterFunc, guarded.
func AfterDone(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() { Guard(f) })
}
