package calls

import (
	"time"

	"github.com/podstep/podstep/probes"
)

// heldTime is a time for which a call was held, itself or in a call that it made. open is how many of the holds go on:
// several goroutines may be held at once.
type heldTime struct {
	from, to int64
	open     int
}

// withHeld calls each with the call that is held, and with the calls around it, as far as they go on. It stops at a call
// that is a goroutine's whole life.
func (s *Stream) withHeld(c *Call, each func(*Call)) {
	for ; c != nil; c = c.Up {
		if role := s.roles[c.Step]; role == probes.RoleLife || role == probes.RoleWorker {
			return
		}
		if !c.over {
			each(c)
		}
	}
}

func (c *Call) beginHeld(at int64) {
	if n := len(c.times); n > 0 && c.times[n-1].open > 0 {
		c.times[n-1].open++
	} else if n < mostMarks {
		c.times = append(c.times, heldTime{from: at, open: 1})
	}
}

// endHeld ends a hold. Of one whose beginning was not seen, took is known.
func (c *Call) endHeld(at, took int64) {
	n := len(c.times)
	if n == 0 || c.times[n-1].open == 0 {
		from := at - took
		if n > 0 {
			from = max(from, c.times[n-1].to)
		}
		if n < mostMarks {
			c.times = append(c.times, heldTime{from: from, to: at})
		}
		return
	}
	t := &c.times[n-1]
	if t.open--; t.open == 0 {
		t.to = at
	}
}

// heldWithin returns how much of the time from begin to end was held. A hold at the end of a call may have been reported
// before that end.
func heldWithin(times []heldTime, begin, end int64) (sum time.Duration) {
	for _, t := range times {
		to := end
		if t.open == 0 {
			to = min(end, t.to)
		}
		sum += time.Duration(max(0, to-max(begin, t.from)))
	}
	return sum
}
