package redact

import (
	"regexp"
	"strings"
)

// hookOutput matches the part of an error that repeats a hook's command, and what it printed.
var hookOutput = regexp.MustCompile(`(?s)(command '|message: |lifecycle hook \().*`)

// Logged returns a text of the kubelet's log as it may be shown. The errors of probes and hooks repeat what a
// container printed; that is taken out.
func Logged(s string) string {
	if strings.Contains(s, "probe failed:") || strings.Contains(s, "probe warning:") {
		if shown, ok := Probe(s); ok {
			s = shown
		}
	}
	if m := hookOutput.FindStringIndex(s); m != nil && strings.Contains(s, "exited with") {
		s = s[:m[0]] + Redacted
	}
	return Text(s)
}
