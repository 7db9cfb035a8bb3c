// Package clock has the times that processes of one machine send each other. Such a time is one of the kernel's clock
// that never jumps. A time.Time keeps only the wall clock's part when it is sent, and that clock may be set meanwhile.
package clock

import (
	"sync"
	"time"
)

// Time is a time of CLOCK_MONOTONIC, in nanoseconds. All processes of a machine have the same clock. 0 is no time.
type Time int64

// Now returns the present time.
func Now() Time { return Of(time.Now()) }

// Of returns a time that was taken by time.Now in this process. The zero time gives 0.
func Of(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	z := zero()
	return z.clock + Time(t.Sub(z.at))
}

// Time returns the time as one that this process took: with a monotonic reading, and with what the wall clock as it is
// set now showed then.
func (t Time) Time() time.Time { return t.As(time.Now()) }

// As is Time, by the present time.
func (t Time) As(now time.Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(t - Of(now)))
}

// Sub returns the duration since an earlier time.
func (t Time) Sub(o Time) time.Duration { return time.Duration(t - o) }

// Add returns the time that is later by a duration.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Stated returns a time that was stated by a wall clock, such as in an object of the API server, with a monotonic
// reading: by what the wall clock shows now.
func Stated(t time.Time) time.Time { return stated(t, time.Now()) }

func stated(t, now time.Time) time.Time {
	const noReading = 0
	return now.Add(t.Round(noReading).Sub(now.Round(noReading)))
}

// reading is one moment on both clocks.
type reading struct {
	at    time.Time
	clock Time
}

// tries is how often the two clocks are read. The reading that took the shortest time counts.
const tries = 20

// zero returns a moment on both clocks.
var zero = sync.OnceValue(func() (best reading) {
	shortest := time.Hour
	for range tries {
		before := time.Now()
		now := read()
		if took := time.Since(before); took < shortest {
			shortest, best = took, reading{before.Add(took / 2), now}
		}
	}
	return best
})
