package main

import (
	"time"
)

// timeForms are how a person writes a time, besides 15:04 and a duration.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// timeHelp is what the help of such a flag says.
const timeHelp = "a `TIME` as 15:04 of the last day, 2026-11-25T15:06:00, or 1h ago as 1h"

// timeOf reads a time that a person writes, in a zone: a date with a time, a time of the last 24 hours, or a duration
// for how long ago it was. Without a text it is the zero time.
func timeOf(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	now := time.Now().In(zone)
	for _, form := range timeForms {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at, nil
		}
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, usagef("--%s %q is no time; write it as 15:06, 2026-11-25T15:06:00, or 1h for an hour ago", flag, text)
}
