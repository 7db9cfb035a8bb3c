package klog

import (
	"iter"
	"strings"
	"time"
)

// Entry is one entry of a log.
type Entry struct {
	Time time.Time
	// Level is I, W, E or F. The text of klog has no other level: whether a line is written at -v=2 or -v=4 is not in
	// it.
	Level byte
	// Where is the place in the source that wrote the entry, such as kubelet.go:2028.
	Where string
	// Message is the message without its values; of an entry that is not structured, the whole text.
	Message string
	// Structured: the entry has a message in quotes and values by name.
	Structured bool
	values     []value
}

// value is one value of an entry, as text: what was quoted is unquoted, what was JSON stays JSON.
type value struct{ key, text string }

// Value returns a value by its key. Of several with one key the last counts, as in klog.
func (e *Entry) Value(key string) (string, bool) {
	for i := len(e.values) - 1; i >= 0; i-- {
		if e.values[i].key == key {
			return e.values[i].text, true
		}
	}
	return "", false
}

// Text returns a value by its key; empty: there is none.
func (e *Entry) Text(key string) string {
	text, _ := e.Value(key)
	return text
}

// First returns the first of some values that the entry has and that is not empty.
func (e *Entry) First(keys ...string) string {
	for _, key := range keys {
		if text := e.Text(key); text != "" {
			return text
		}
	}
	return ""
}

// Parse reads one entry, in either of klog's formats, with the lines that continue it. The text format has no year
// and no zone: near is a time in the zone of the clock that the entry was written by, and the entry is from the
// twelve months before the day after near.
func Parse(text string, near time.Time) (Entry, bool) {
	if strings.HasPrefix(text, "{") {
		return parseJSON(text)
	}
	return parseText(text, near)
}

// Continues reports whether a line is no entry by itself, but belongs to the one before: klog begins the lines of a
// value that has several with a tab, and ends them with " >".
func Continues(line string) bool {
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " >")
}

// Values returns the values by their keys, in their order.
func (e *Entry) Values() iter.Seq2[string, string] {
	return func(yield func(key, text string) bool) {
		for _, v := range e.values {
			if !yield(v.key, v.text) {
				return
			}
		}
	}
}
