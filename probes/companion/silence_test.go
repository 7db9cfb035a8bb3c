package companion

import (
	"testing"
	"time"
)

// TestSilence: only time counts in which something could come and nothing comes.
func TestSilence(t *testing.T) {
	var u Silence
	now := time.Now()
	look := func(after time.Duration, number uint64, may bool) time.Duration {
		now = now.Add(after)
		return u.Update(now, number, may)
	}
	const s = time.Second
	for i, x := range []struct {
		after  time.Duration
		number uint64
		may    bool
		want   time.Duration
	}{
		{0, 5, true, 0},
		{s / 2, 5, true, s / 2},
		{s / 2, 5, true, s},
		{s / 2, 5, false, s},            // nothing can come
		{s / 2, 5, true, 3 * s / 2},     // it can again
		{time.Hour, 5, true, 5 * s / 2}, // this process was stopped
		{s / 2, 6, true, 0},             // something came
		{s / 2, 6, true, s / 2},
	} {
		if got := look(x.after, x.number, x.may); got != x.want {
			t.Errorf("at look %d it lasts %v, want %v", i, got, x.want)
		}
	}
}
