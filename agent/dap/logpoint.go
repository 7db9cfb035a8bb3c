package dap

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// logRate bounds the lines of all logpoints in a second.
const logRate = 50

func itoa(n int) string { return strconv.Itoa(n) }

// logger prints the lines of logpoints.
type logger struct {
	second  int64
	lines   int
	skipped int
}

// log prints the lines of the logpoints that an event matches. It holds nobody.
func (s *session) log(l *logger, ps *points, e *probes.Event) {
	step := probes.MustLoad().Step(e.Step)
	if step == nil {
		return
	}
	for _, p := range ps.all() {
		if p.log == "" || !p.verified || !p.comesTo(step) || !p.rule.matches(e) || e.Pod == nil || !p.rule.pods.Selects(e.Pod.Namespace, e.Pod.Name) {
			continue
		}
		if now := time.Now().Unix(); now != l.second {
			if l.skipped > 0 {
				s.output(console, "%d more lines of logpoints are left out", l.skipped)
			}
			*l = logger{second: now}
		}
		if l.lines++; l.lines > logRate {
			l.skipped++
			continue
		}
		s.output(console, "%s", fillLog(p.log, e))
	}
}

// fillLog puts values into the text of a logpoint, each in place of its name in braces.
func fillLog(text string, e *probes.Event) string {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(text, "{")
		b.WriteString(before)
		name, after, closed := strings.Cut(rest, "}")
		if !more || !closed {
			if more {
				b.WriteString("{" + rest)
			}
			return words.Clean(b.String())
		}
		b.WriteString(logValue(strings.TrimSpace(name), e))
		text = after
	}
}

// logValue returns a value of an event by the name that the filter language has for it, or by that of a field.
func logValue(name string, e *probes.Event) string {
	switch name {
	case "pod":
		return e.Pod.NamespacedName()
	case "ns":
		return e.Pod.Namespace
	case "step":
		return e.Step
	case "kind":
		return string(e.Kind)
	case "error", "err":
		return e.Error
	case "slow", "took":
		return words.Took(time.Duration(e.DurationNs))
	case "sync":
		return strconv.FormatUint(uint64(e.Sync), 10)
	}
	if v, ok := e.Fields[strings.TrimPrefix(name, "field.")]; ok {
		return fmt.Sprint(words.Short(v))
	}
	return "{" + name + " is not known here}"
}
