package probes

import (
	"fmt"
	"regexp"
	"slices"
)

// LogLine is a line that the kubelet writes to its log at a step. A probe that reads logs knows the step by it.
type LogLine struct {
	At LogSide `yaml:"at"`
	// Message is the line's message. With a star at its end it is the beginning of the message.
	Message string `yaml:"msg"`
	// V is the verbosity of the kubelet from which on it writes the line.
	V int `yaml:"v"`
	// Until is the last minor version that writes the line, such as v1.26; empty: the catalogue's own writes it.
	Until string `yaml:"until"`
	// Values are the fields of the step, or for an exit its results, that the line has, each with the key of the
	// value there.
	Values map[string]string `yaml:"values"`
	// In are regular expressions by the key of the value in which they are looked for; LogMessage stands for the
	// message. Each of them has to match. A group with a name is a value, as in Values; the groups LogPod, LogUID,
	// LogError and LogWhich are no fields.
	In map[string]string `yaml:"in"`
	// When are values, by their keys, that the line must have.
	When map[string]string `yaml:"when"`
}

// LogSide is the part of a call that a line shows.
type LogSide string

const (
	// LogEnter: the call begins, and another line shows its end.
	LogEnter LogSide = "enter"
	// LogExit: the call has ended.
	LogExit LogSide = "exit"
	// LogFailed: the call has ended with an error.
	LogFailed LogSide = "failed"
	// LogNote: the call happens. No line shows how long it takes.
	LogNote LogSide = "note"
)

// Names in LogLine.In.
const (
	LogMessage = "msg"
	LogPod     = "pod"
	LogUID     = "uid"
	LogError   = "err"
	LogWhich   = "which" // which of the pod's calls of the step it is, where several go on
)

// LogV returns the verbosity of the kubelet from which on its log shows the step; ok is false if no line does.
func (s *Step) LogV() (v int, ok bool) {
	for i, l := range s.Log {
		if i == 0 || l.V < v {
			v = l.V
		}
	}
	return v, len(s.Log) > 0
}

// logProblems finds what is wrong with the lines of a step.
func (s *Step) logProblems() (out []string) {
	for i := range s.Log {
		l := &s.Log[i]
		add := func(format string, args ...any) {
			out = append(out, fmt.Sprintf("log line %q: ", l.Message)+fmt.Sprintf(format, args...))
		}
		if l.Message == "" || l.V < 0 || l.V > 10 {
			add("it has no message, or the verbosity %d", l.V)
		}
		of := s.Fields
		switch l.At {
		case LogEnter, LogNote:
		case LogExit, LogFailed:
			of = s.Results
		default:
			add("%q is none of enter, exit, failed, note", l.At)
		}
		names := []string{}
		for name := range l.Values {
			names = append(names, name)
		}
		for key, expr := range l.In {
			re, err := regexp.Compile(expr)
			if err != nil {
				add("the expression for %s: %v", key, err)
				continue
			}
			names = append(names, slices.DeleteFunc(re.SubexpNames(), func(name string) bool {
				return slices.Contains([]string{"", LogPod, LogUID, LogError, LogWhich}, name)
			})...)
		}
		for _, name := range names {
			// A line of a report is all of it, so all fields may be in it.
			if !has(of, name) && !(l.At == LogNote && has(s.Results, name)) {
				add("the step has no field %s there", name)
			}
		}
	}
	return out
}
