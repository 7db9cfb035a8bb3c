package words

import (
	"fmt"
	"time"
)

// Measured writes how long something took, with three digits at most: 0.02 ms,
// 1.3 ms, 402 ms, 1.85 s, 12.3 s; from a minute on as Clock does.
func Measured(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d < 0:
		return "-" + Measured(-d)
	case ms < 0.01:
		return "0 ms"
	case ms < 0.095:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return Clock(d)
}

// Took writes a time that goes on while it is read, in a sentence: 0.3 ms,
// 402 ms, 1.8 s, 12 s; from a minute on as Clock does. A negative one is zero.
func Took(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return Clock(d.Truncate(time.Second))
}

// Clock writes a countdown or an age: 0:24, 12:05, 3h05, 2d04h. A negative one
// is zero.
func Clock(d time.Duration) string {
	s := int(max(0, d).Round(time.Second) / time.Second)
	switch {
	case s < 3600:
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02d", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}
