package explain

import (
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Finding is one reason why a pod is where it is.
type Finding struct {
	// Phrase is what was found: its code is the finding's.
	Phrase
	// More is what else is known of it, a sentence each.
	More []Phrase
	// Evidence are the events that show it, the one that shows it best first; it
	// is empty where only the absence of events does.
	Evidence []Evidence
	// State is the verdict on the pod, and Since the session time from which it
	// holds, in nanoseconds.
	State life.State
	Since int64
}

// Text is the finding in sentences.
func (f *Finding) Text(l words.Lang) string {
	out := []string{f.Phrase.Text(l)}
	for _, p := range f.More {
		out = append(out, p.Text(l))
	}
	return l.Sentences(out...)
}

// Brief is the finding in the few words that fit into a row of a list; empty if
// the table has none, as for a pod in no trouble.
func (f *Finding) Brief(l words.Lang) string {
	out := f.Phrase.Brief(l)
	for _, p := range f.More {
		out += p.Brief(l)
	}
	return out
}

// Code names an entry of the table. It stays from version to version.
type Code string

// Args are the arguments of an entry by name. A value is a string of a pod, of the
// kubelet or of a runtime, made safe for a terminal; a number; a time.Duration; a
// text of the catalogue; a Nth; or a Phrase.
type Args map[string]any

// Nth is the number of a try, from 1.
type Nth int

// Phrase is an entry of the table with its arguments.
type Phrase struct {
	Code Code
	Args Args
}

// Text is the phrase in full.
func (p Phrase) Text(l words.Lang) string { return p.expand(l, table()[p.Code].Text, false) }

// Brief is the phrase in few words, empty if the table has none.
func (p Phrase) Brief(l words.Lang) string { return p.expand(l, table()[p.Code].Brief, true) }

func (p Phrase) expand(l words.Lang, t probes.Text, brief bool) string {
	return probes.Fill(l.In(t), func(name string) string { return show(l, p.Args[name], brief) })
}

// show writes an argument in the reader's language.
func show(l words.Lang, v any, brief bool) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Duration:
		return words.Took(v)
	case probes.Text:
		return l.In(v)
	case Nth:
		return l.Nth(int(v))
	case Phrase:
		if brief {
			if b := v.Brief(l); b != "" {
				return b
			}
		}
		return v.Text(l)
	}
	return fmt.Sprint(v)
}
