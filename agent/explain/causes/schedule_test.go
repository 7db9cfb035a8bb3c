package causes

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
)

// TestLastDue: the last time at which a Job was due is the last one that counting through all times finds.
func TestLastDue(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 10, 30, 0, time.UTC)
	for _, text := range []string{"* * * * *", "*/7 * * * *", "0 6 * * *", "30 6-16/4 * * 1-5", "0 0 1 * *", "@every 90s", "@every 25h", "@hourly", "TZ=Asia/Shanghai 5 4 * * *", "10 12 26 11 *"} {
		s, err := readSchedule(&evidence.Owner{Schedule: text})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, before := range []time.Duration{0, time.Second, time.Minute, 11 * time.Hour, 40 * 24 * time.Hour} {
			after := now.Add(-before)
			var want time.Time
			for next := s.Next(after); !next.IsZero() && !next.After(now); next = s.Next(next) {
				want = next
			}
			if got := s.lastDue(after, now); !got.Equal(want) {
				t.Errorf("%s: after %v the last time due is %v, want %v", text, after, got, want)
			}
		}
	}
}

// TestReadSchedule: what the parser refuses, or what makes it panic, is an error.
func TestReadSchedule(t *testing.T) {
	for _, o := range []evidence.Owner{{Schedule: "61 * * * *"}, {Schedule: "TZ=0"}, {Schedule: "0 6 * * *", TimeZone: "Mars/Base"}, {Schedule: "@sometimes"}} {
		if s, err := readSchedule(&o); err == nil {
			t.Errorf("%+v is read as %v", o, s)
		}
	}
}

// TestZoneOfSchedule: a CronJob without a time zone is judged only where its last Job shows that UTC is right.
func TestZoneOfSchedule(t *testing.T) {
	day := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		o     evidence.Owner
		sure  Confidence
		known bool
	}{
		{evidence.Owner{Schedule: "0 6 * * *", TimeZone: "Europe/Berlin"}, Certain, true},
		{evidence.Owner{Schedule: "@every 1h", LastScheduled: day.Add(17 * time.Minute)}, Certain, true},
		{evidence.Owner{Schedule: "0 6 * * *"}, Possible, true},
		{evidence.Owner{Schedule: "0 6 * * *", LastScheduled: day.Add(6 * time.Hour)}, Likely, true},
		{evidence.Owner{Schedule: "0 6 * * *", LastScheduled: day.Add(5 * time.Hour)}, Likely, false},
		{evidence.Owner{Schedule: "0 6 * * *", LastScheduled: day.Add(5 * time.Hour), Changed: day.Add(7 * time.Hour)}, Possible, true},
	} {
		s, err := readSchedule(&c.o)
		if err != nil {
			t.Fatal(err)
		}
		if sure, known := s.sureOfZone(&c.o); sure != c.sure || known != c.known {
			t.Errorf("%+v: %s, known %v; want %s, %v", c.o, sure, known, c.sure, c.known)
		}
	}
}

// TestStateOfSchedule: a CronJob waits for its next run, or is stuck if its controller makes none; while a Job of it runs, it runs.
func TestStateOfSchedule(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 10, 0, 0, time.UTC)
	hour := func(h int) time.Time { return time.Date(2026, 11, 26, h, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		o    evidence.Owner
		want life.State
		from time.Time
	}{
		"its time comes":                 {evidence.Owner{Schedule: "0 18 * * *", LastScheduled: hour(-6)}, life.Waiting, hour(0)},
		"a Job of it runs":               {evidence.Owner{Schedule: "0 18 * * *", LastScheduled: hour(-6), Running: []string{"nightly-1"}}, life.Idle, hour(0)},
		"it is suspended":                {evidence.Owner{Schedule: "0 18 * * *", Suspended: true}, life.Waiting, hour(0)},
		"its schedule cannot be read":    {evidence.Owner{Schedule: "61 * * * *"}, life.Stuck, hour(0)},
		"its day never comes":            {evidence.Owner{Schedule: "0 0 30 2 *", TimeZone: "UTC"}, life.Stuck, hour(0)},
		"a Job was due, and none came":   {evidence.Owner{Schedule: "0 6 * * *", LastScheduled: hour(-18)}, life.Stuck, hour(6)},
		"it is too late for the last":    {evidence.Owner{Schedule: "0 6 * * *", LastScheduled: hour(-18), Within: new(int64(60))}, life.Waiting, hour(0)},
		"a Job is due at this very time": {evidence.Owner{Schedule: "10 12 * * *", LastScheduled: hour(-12).Add(10 * time.Minute)}, life.Waiting, hour(0)},
	} {
		c.o.Kind, c.o.Name, c.o.Created = "CronJob", "nightly", hour(0)
		c.o.Wanted, c.o.Made, c.o.Ready = -1, -1, -1
		s := &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "nightly"}, Cluster: evidence.Cluster{Owners: []evidence.Owner{c.o}}}
		if r := Explain(s); r.State != c.want || !r.Since.Equal(c.from) {
			t.Errorf("%s: it is %v since %v, want %v since %v", name, r.State, r.Since, c.want, c.from)
		}
	}
}
