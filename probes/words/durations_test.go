package words

import (
	"testing"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		write func(time.Duration) string
		d     time.Duration
		want  string
	}{
		{Measured, 0, "0 ms"}, {Measured, 20 * us, "0.02 ms"}, {Measured, 230 * us, "0.2 ms"}, {Measured, 402 * ms, "402 ms"},
		{Measured, 1840 * ms, "1.84 s"}, {Measured, 12 * time.Second, "12.0 s"}, {Measured, 192 * time.Second, "3m12s"}, {Measured, -402 * ms, "-402 ms"},
		{Took, -1, "0.0 ms"}, {Took, 200 * us, "0.2 ms"}, {Took, 402 * ms, "402 ms"}, {Took, 1840 * ms, "1.8 s"},
		{Took, 42 * time.Second, "42 s"}, {Took, 192 * time.Second, "3m12s"}, {Took, 2*time.Hour + 3*time.Minute, "2h3m"},
		{Clock, 24 * time.Second, "24 s"}, {Clock, 3*time.Hour + 5*time.Minute, "3h5m"}, {Clock, 52 * time.Hour, "2d4h"},
		{Clock, 5 * time.Minute, "5m"}, {Clock, -time.Second, "0 s"},
	} {
		if got := c.write(c.d); got != c.want {
			t.Errorf("%v is %q, want %q", c.d, got, c.want)
		}
	}
}
