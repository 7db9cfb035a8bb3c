package causes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// dueTakes is how long the CronJob controller may take to make a Job that is due.
const dueTakes = time.Minute

// scheduledRun finds when a CronJob makes its next Job, and why it has not made the last one.
func scheduledRun(c *Case) []Finding {
	o := c.askedOwner()
	if o == nil || o.Kind != "CronJob" || o.Schedule == "" || o.Suspended || o.Deleting {
		return nil
	}
	s, err := readSchedule(o)
	if err != nil {
		return []Finding{c.brokenSchedule(o, err.Error(), Certain, c.shownSchedule(o))}
	}
	if e := c.lastOwnerEvent(o, "UnknownTimeZone"); e != nil && e.Last.After(latest(o.LastScheduled, o.Changed)) {
		return []Finding{c.brokenSchedule(o, e.Message, Likely, c.event(e))}
	}
	sure, known := s.sureOfZone(o)
	if !known {
		return nil
	}
	next := s.Next(c.Now)
	if next.IsZero() {
		return []Finding{c.brokenSchedule(o, "no such day comes within five years", Certain, c.shownSchedule(o))}
	}
	after := latest(latest(o.Created, o.LastScheduled), o.Changed)
	if first := s.Next(after); !first.IsZero() && !first.After(c.Now) {
		return c.notMade(o, s, after, first, sure)
	}
	if len(o.Running) > 0 {
		return nil // one runs, and the next one is made when it is due
	}
	args := c.ownerArgs(o)
	args["next"], args["left"] = s.text(next), words.Took(next.Sub(c.Now))
	return []Finding{c.found("controllers.scheduleLater", "", args, sure, o.LastScheduled, c.shownSchedule(o))}
}

// stateOfSchedule is stateOf for a CronJob of which no Job runs: it waits for its next one, or is stuck if its controller
// makes none. ok is false for whatever else was asked about.
func (c *Case) stateOfSchedule() (state life.State, from time.Time, ok bool) {
	o := c.askedOwner()
	if o == nil || o.Kind != "CronJob" || len(o.Running) > 0 || o.Deleting {
		return state, from, false
	}
	from = c.ownerSince(o)
	for _, f := range scheduledRun(c) {
		if id := f.Cause.ID; id == "controllers.scheduleBroken" || id == "controllers.scheduleNotKept" {
			return life.Stuck, cmp.Or(f.Since, from), true
		}
	}
	return life.Waiting, from, true
}

// notMade finds why a CronJob has made none of the Jobs that were due after a time. first is when the first of them was due.
func (c *Case) notMade(o *evidence.Owner, s *schedule, after, first time.Time, sure Confidence) []Finding {
	due := func(t time.Time) Args {
		args := c.ownerArgs(o)
		args["due"], args["ago"] = s.text(t), words.Took(c.Now.Sub(t))
		return args
	}
	if o.Within != nil {
		if last := s.lastDue(after, c.Now); last.Add(time.Duration(*o.Within) * time.Second).Before(c.Now) {
			args := due(last)
			args["within"], args["next"] = fmt.Sprint(*o.Within), s.text(s.Next(c.Now))
			return []Finding{c.found("controllers.scheduleMissed", "", args, sure, last, c.shownSchedule(o), c.lastRun(o))}
		}
	}
	created := c.lastCreate(o)
	if c.Now.Sub(first) < dueTakes || o.Concurrency == "Forbid" && len(o.Running) > 0 || created != nil && created.Reason != "SuccessfulCreate" {
		return nil // it is about to, it may not, or it has tried to
	}
	if sure == Certain {
		sure = Likely // nobody says so
	}
	return []Finding{c.found("controllers.scheduleNotKept", "", due(first), sure, first, c.shownSchedule(o), c.lastRun(o))}
}

func (c *Case) brokenSchedule(o *evidence.Owner, problem string, sure Confidence, shown Evidence) Finding {
	args := c.ownerArgs(o)
	args["schedule"], args["problem"] = o.Schedule, problem
	return c.found("controllers.scheduleBroken", "", args, sure, time.Time{}, shown)
}

func (c *Case) shownSchedule(o *evidence.Owner) Evidence {
	text := "schedule " + o.Schedule
	if o.TimeZone != "" {
		text += ", timeZone " + o.TimeZone
	}
	if o.Within != nil {
		text += fmt.Sprintf(", startingDeadlineSeconds %d", *o.Within)
	}
	return c.object(words.Same(o.Kind+" "+o.Name), words.Same(text), c.Now)
}

func (c *Case) lastRun(o *evidence.Owner) Evidence {
	if o.LastScheduled.IsZero() {
		return c.object(words.Same(o.Kind+" "+o.Name), words.Text("it has never made a Job", "它从未创建过 Job"), o.Created)
	}
	return c.object(words.Same(o.Kind+" "+o.Name), words.Same("lastScheduleTime: "+o.LastScheduled.UTC().Format(time.RFC3339)), o.LastScheduled)
}

// schedule is when a CronJob makes its Jobs.
type schedule struct {
	cron.Schedule
	zone *time.Location
	// named reports whether the CronJob names its zone, or needs none.
	named bool
}

// readSchedule reads a CronJob's schedule with the parser of its controller. Without a time zone the controller takes its own,
// which nearly everywhere is UTC. The error is the parser's.
func readSchedule(o *evidence.Owner) (s *schedule, err error) {
	defer func() { // as the controller does (pkg/util/parsers: ParseCronScheduleWithPanicRecovery)
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("%v", r)
		}
	}()
	text, own := o.Schedule, strings.Contains(o.Schedule, "TZ=")
	if !own {
		text = "TZ=" + cmp.Or(o.TimeZone, "UTC") + " " + text
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	s = &schedule{Schedule: parsed, zone: time.UTC, named: own || o.TimeZone != ""}
	switch p := parsed.(type) {
	case *cron.SpecSchedule:
		s.zone = p.Location
	case cron.ConstantDelaySchedule:
		s.named = true
	}
	return s, nil
}

// sureOfZone returns how sure the times of a schedule are. Where a CronJob names no zone, the last Job that it made shows
// whether UTC is right; known is false if UTC is wrong.
func (s *schedule) sureOfZone(o *evidence.Owner) (sure Confidence, known bool) {
	switch {
	case s.named:
		return Certain, true
	case o.LastScheduled.IsZero() || o.LastScheduled.Before(o.Changed):
		return Possible, true
	}
	return Likely, s.Next(o.LastScheduled.Add(-time.Second)).Equal(o.LastScheduled)
}

// lastDue returns the last time at which a Job was due, after one time and not after another; zero: none was.
func (s *schedule) lastDue(after, now time.Time) (due time.Time) {
	first := s.Next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}
	}
	if every, is := s.Schedule.(cron.ConstantDelaySchedule); is {
		return first.Add(now.Sub(first).Truncate(every.Delay))
	}
	// It looks back twice as far each time, so that a schedule of minutes is not followed through years.
	for back := time.Minute; ; back *= 2 {
		from := latest(after, now.Add(-back))
		for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
			due = t
		}
		if !due.IsZero() {
			return due
		}
	}
}

// text writes a time in the schedule's zone.
func (s *schedule) text(t time.Time) string { return t.In(s.zone).Format("2006-01-02 15:04 MST") }
