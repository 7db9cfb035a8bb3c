package clock

import (
	"testing"
	"time"

	"github.com/podstep/podstep/probes/clock/clocktest"
)

// TestTimes: a time comes back as it was, and so does one that another process sent.
func TestTimes(t *testing.T) {
	now := time.Now()
	if back := Of(now).Time(); back.Sub(now) != 0 {
		t.Errorf("%v comes back %v later", now, back.Sub(now))
	}
	before, at, after := read(), Now(), read()
	const near = Time(10 * time.Millisecond)
	if at < before-near || at > after+near {
		t.Errorf("it is %d, and the kernel's clock went from %d to %d", at, before, after)
	}
	if Of(time.Time{}) != 0 || !Time(0).Time().IsZero() {
		t.Error("no time is a time")
	}
	if d := Of(now).Add(time.Minute).Sub(Of(now)); d != time.Minute {
		t.Errorf("a minute is %v", d)
	}
}

// TestSetClock: if the wall clock is set, durations stay, and times are shown by the clock as it is set.
func TestSetClock(t *testing.T) {
	now := time.Now()
	sent := Of(now).Add(-time.Second)
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		set := clocktest.Set(now, by)
		if set.Sub(now) != 0 || set.Round(0).Sub(now.Round(0)) != by {
			t.Fatalf("the test does not set the clock by %v", by)
		}
		got := sent.As(set)
		if d := now.Sub(got); d != time.Second {
			t.Errorf("set by %v, the time is %v ago", by, d)
		}
		if d := set.Round(0).Sub(got.Round(0)); d != time.Second {
			t.Errorf("set by %v, the time is shown as %v ago", by, d)
		}
		report := set.Round(0).Add(-time.Minute) // an API server has the right time all along
		if d := now.Sub(stated(report, set)); d != time.Minute {
			t.Errorf("set by %v, what was stated a minute ago is %v ago", by, d)
		}
	}
}
