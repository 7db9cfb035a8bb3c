package companion

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Work is what a goroutine does that must end soon, such as to handle a message. The zero value is none.
type Work struct{ since atomic.Int64 }

var started = time.Now()

// Begin notes that work begins, and End that it has ended.
func (w *Work) Begin() { w.since.Store(int64(time.Since(started)) + 1) }

// End notes that the work has ended.
func (w *Work) End() { w.since.Store(0) }

// Since is when the work began: a number that is higher for later work, and 0 for none.
func (w *Work) Since() uint64 { return uint64(w.since.Load()) }

// Lasts returns for how long work lasts that began then.
func Lasts(since uint64) time.Duration { return time.Since(started) - time.Duration(since) }

// EndIfStuck kills this process when the oldest work of some goroutine has taken so long that the goroutine is taken to
// wait for ever. Whoever watches this process then does what is to be done if it dies. oldest returns the Since of the
// oldest work.
func EndIfStuck(what string, after time.Duration, oldest func() uint64) {
	go func() {
		for lasts := (Silence{}); ; time.Sleep(BeatEvery / 2) {
			since := oldest()
			if lasts.Update(time.Now(), since, since != 0) > after {
				Report(fmt.Sprintf("process %d of podstep's ends itself, since %s has taken more than %v", os.Getpid(), what, after))
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			}
		}
	}()
}

// Older returns the older of two Since.
func Older(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
