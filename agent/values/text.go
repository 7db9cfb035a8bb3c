package values

import (
	"strings"
	"unicode/utf8"

	"github.com/podstep/podstep/agent/redact"
)

// maxText bounds a text field, in bytes.
const maxText = 1 << 10

// Text makes a text fit to leave the agent: without secrets, short, and UTF-8. A text that is so already is returned
// unchanged, without allocating.
func Text(s string) string { return clip(redact.Text(s)) }

// Error returns an error's text without secrets. An Error method that panics must not cost the event.
func Error(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "error that cannot be printed"
		}
	}()
	return Text(err.Error())
}

// clip cuts a text to maxText bytes and makes it valid UTF-8. Texts of a runtime or a container can be any bytes, and
// one string that is not UTF-8 costs the whole message.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
