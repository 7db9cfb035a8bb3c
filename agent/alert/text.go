package alert

import (
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Text describes a match in one line for a person, without its time and pod.
func (m *Match) Text() string {
	var parts []string
	for i := range m.Parts {
		parts = append(parts, m.Parts[i].Text())
	}
	return strings.Join(parts, "; then ")
}

// Text describes what matched a part.
func (p *Part) Text() string {
	switch {
	case p.AbsentNs != 0:
		return "not within " + words.Measured(time.Duration(p.AbsentNs)) + ": " + words.Clean(p.Part)
	case p.State != "":
		text := p.State
		if lasted := time.Duration(p.StateNs).Round(time.Second); lasted > 0 {
			text += " for " + words.Measured(lasted)
		}
		if p.Step != "" {
			text += " at " + words.Clean(p.Step)
		}
		return text + failure(p.Error)
	case p.RunningNs != 0:
		return words.Clean(p.Event.Step) + " goes on for more than " + words.Measured(time.Duration(p.RunningNs))
	}
	return eventText(p.Event)
}

func failure(text string) string {
	if text == "" {
		return ""
	}
	return ": " + words.Clean(text)
}

// ended describes the end of a call; "" for a report, which takes no time.
func ended(e *probes.Event) string {
	switch {
	case e.DurationNs == 0:
		return ""
	case e.Error != "":
		return " failed after " + words.Measured(time.Duration(e.DurationNs))
	}
	return " ended after " + words.Measured(time.Duration(e.DurationNs))
}

func eventText(e *probes.Event) string {
	step := words.Clean(e.Step)
	switch e.Kind {
	case probes.Enter:
		return step + " begins"
	case probes.Exit:
		return step + ended(e) + failure(e.Error)
	case probes.Held:
		return "held at " + step
	case probes.Released:
		return "goes on from " + step
	}
	return strings.TrimSpace(string(e.Kind)+" "+step) + failure(e.Error)
}
