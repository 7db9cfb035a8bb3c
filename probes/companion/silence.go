package companion

import "time"

// Silence measures for how long nothing has come. It counts only time in which something could come, and not the time
// for which this process was stopped itself. The zero value begins with its first Update.
type Silence struct {
	number uint64
	looked time.Time
	lasts  time.Duration
}

// maxGap is the most time that counts between two looks.
const maxGap = 2 * BeatEvery

// Update is called again and again with a number that changes when something comes. may reports whether something can
// come. Update returns for how long nothing has.
func (s *Silence) Update(now time.Time, number uint64, may bool) time.Duration {
	gap := min(now.Sub(s.looked), maxGap)
	switch {
	case s.looked.IsZero() || number != s.number:
		s.lasts = 0
	case may:
		s.lasts += gap
	}
	s.number, s.looked = number, now
	return s.lasts
}
