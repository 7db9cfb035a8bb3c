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

// Took writes a time that still grows while a person reads it, in a sentence: 0.3 ms, 402 ms, 1.8 s, 12 s; from a
// minute on as Clock does. A negative one is zero.
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

// Clock writes a countdown or an age in whole seconds: 24 s. From a minute on it writes as kubectl does, so that it
// is not read as a time of day: 12m5s, 3h5m, 2d4h, 5m. A negative one is zero.
func Clock(d time.Duration) string {
	s := int(max(0, d).Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return two(s/60, "m", s%60, "s")
	case s < 86400:
		return two(s/3600, "h", s/60%60, "m")
	}
	return two(s/86400, "d", s/3600%24, "h")
}

// two writes two units, or only the larger one if the smaller is zero.
func two(a int, large string, b int, small string) string {
	if b == 0 {
		return fmt.Sprint(a, large)
	}
	return fmt.Sprint(a, large, b, small)
}
