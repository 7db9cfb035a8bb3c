package main

import (
	"testing"
	"time"
)

// TestTimeOf: a time is written in each form that people use, and what is none is refused.
func TestTimeOf(t *testing.T) {
	now := time.Now()
	yesterday := now.Add(time.Hour)
	for text, want := range map[string]time.Time{
		"2026-11-25T15:06:07Z":       time.Date(2026, 11, 25, 15, 6, 7, 0, time.UTC),
		"2026-11-25T15:06:07+02:00":  time.Date(2026, 11, 25, 13, 6, 7, 0, time.UTC),
		"2026-11-25T15:06":           time.Date(2026, 11, 25, 15, 6, 0, 0, time.Local),
		"2026-11-25 15:06:07":        time.Date(2026, 11, 25, 15, 6, 7, 0, time.Local),
		"2026-11-25":                 time.Date(2026, 11, 25, 0, 0, 0, 0, time.Local),
		"1h30m":                      now.Add(-90 * time.Minute),
		"0s":                         now,
		now.Format("15:04:05"):       now.Truncate(time.Second),
		yesterday.Format("15:04:05"): yesterday.AddDate(0, 0, -1).Truncate(time.Second),
	} {
		if got, err := timeOf("since", text, time.Local); err != nil || got.Sub(want).Abs() > time.Minute {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "25:00", "-1h", "12", "2026-13-01"} {
		if got, err := timeOf("since", text, time.Local); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if at, err := timeOf("since", "", time.Local); err != nil || !at.IsZero() {
		t.Errorf("nothing is %v, %v", at, err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"1GiB": 1 << 30, "512Mi": 512 << 20, "1.5KiB": 1536, "7": 7, "7B": 7, "2TiB": 2 << 40} {
		var s size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "1GB", "1 GiB", "1e3", "99999999TiB", "1..2MiB"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %d", text, s)
		}
	}
	for n, want := range map[int64]string{1 << 30: "1GiB", 1536: "1536B", 3 << 20: "3MiB", 0: "0B"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
}
