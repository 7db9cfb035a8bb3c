package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/whatif"
	"github.com/podstep/podstep/probes/words"
)

// whatifWidth is how wide an answer is printed, in characters.
const whatifWidth = 79

// text prints an answer for people.
func (j *whatifJSON) text(w io.Writer) {
	color := isTerminal(w) && !noColor()
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		text := ansi.Wordwrap(words.Clean(fmt.Sprintf(format, args...)), whatifWidth-indent-2, "")
		b.WriteString(strings.Repeat(" ", indent) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent+2)) + "\n")
	}
	line(0, "%s/%s, the plan of sync %d, %s", j.Namespace, j.Name, j.Sync, j.Time.Local().Format(time.TimeOnly))
	line(0, "%s", j.verdict())
	for _, text := range j.Mismatch {
		line(2, "%s", text)
	}
	if len(j.Changes) > 0 {
		b.WriteString("\nWhat if\n")
	}
	for _, c := range j.Changes {
		line(2, "%s: %s (was %s)", c.Path, short(c.To), short(c.From))
	}
	b.WriteString("\n")
	for i := range j.Rows {
		r := &j.Rows[i]
		if !r.Differs {
			line(2, "%s: %s", r.Subject, r.Before)
			printMessages(line, r.MessagesAfter)
			continue
		}
		mark := "* " + r.Subject
		if color {
			mark = "\x1b[33m" + mark + "\x1b[0m"
		}
		b.WriteString(mark + "\n")
		line(4, "before   %s", r.Before)
		printMessages(line, r.MessagesBefore)
		line(4, "after    %s", r.After)
		printMessages(line, r.MessagesAfter)
		line(4, "because  %s", strings.Join(r.Because, ", "))
	}
	io.WriteString(w, b.String())
}

// printMessages prints what the kubelet's function logged about a subject.
func printMessages(line func(int, string, ...any), messages []string) {
	for _, m := range messages {
		line(13, "the kubelet: %s", m)
	}
}

// verdict returns whether the plan was made anew as it was recorded, and whether it differs after the changes.
func (j *whatifJSON) verdict() string {
	by := "The code of kubelet " + j.Kubelet
	if j.Recorder != "" && j.Recorder != j.Kubelet {
		by += " (" + j.Recorder + " made the recorded plan)"
	}
	switch {
	case !j.Compared:
		return by + " makes this plan; the recorded one is not known."
	case !j.Same:
		return by + " makes another plan than the recorded one:"
	case len(j.Changes) == 0:
		return by + " makes the recorded plan again."
	case !slices.ContainsFunc(j.Rows, func(r whatif.Row) bool { return r.Differs }):
		return by + " makes the recorded plan again, and no other after the changes."
	}
	return by + " makes the recorded plan again, and another after the changes."
}

// mostValue is how much of a value is printed for people.
const mostValue = 40

// short returns a value for people: JSON, and of a long one only what it is.
func short(value string) string {
	switch {
	case value == "":
		return "nothing"
	case len(value) > mostValue && value[0] == '{':
		return "{...}"
	case len(value) > mostValue && value[0] == '[':
		return "[...]"
	}
	return ansi.Truncate(value, mostValue, "...")
}
