package probes

import (
	"fmt"
	"maps"
	"slices"
)

// Reason is why something is so: a code with arguments. Only these go over the wire. The program that shows the
// reason finds the words, in the reader's language. The zero value is no reason.
type Reason struct {
	Code string
	// Args are the arguments by name: texts that others wrote, such as an error's.
	Args map[string]string
}

// ReasonCode is a code whose words are known.
type ReasonCode string

// reasonTexts are the words of all codes that packages of this program have
// declared.
var reasonTexts = map[ReasonCode]Text{}

// NewReason declares a code and its words, in which "{error}" stands for the argument error. It is called for the
// package variables of probes/reasons, which every program that shows reasons has. It panics if a code is declared
// twice, or lacks a language: that is a fault of the program.
func NewReason(code string, text Text) ReasonCode {
	c := ReasonCode(code)
	if _, is := reasonTexts[c]; is || code == "" || text.En == "" || text.Zh == "" {
		panic(fmt.Sprintf("reason %q is declared twice, or lacks its words in a language", code))
	}
	reasonTexts[c] = text
	return c
}

// With returns the reason with arguments: names and values in turn.
func (c ReasonCode) With(args ...string) Reason {
	r := Reason{Code: string(c)}
	for pair := range slices.Chunk(args, 2) {
		if r.Args == nil {
			r.Args = map[string]string{}
		}
		r.Args[pair[0]] = pair[1]
	}
	return r
}

// Reason returns the reason without arguments.
func (c ReasonCode) Reason() Reason { return Reason{Code: string(c)} }

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r.Code == "" }

// Text returns the reason in words. A code that this program does not know, of a newer podstep, is shown with its
// arguments.
func (r Reason) Text() Text {
	if r.IsZero() {
		return Text{}
	}
	text, known := reasonTexts[ReasonCode(r.Code)]
	if !known {
		return r.bare()
	}
	return text.Fill(func(name string) Text {
		value, ok := r.Args[name]
		if !ok {
			value = "?"
		}
		return Text{En: value, Zh: value}
	})
}

func (r Reason) bare() Text {
	out := r.Code
	for _, name := range slices.Sorted(maps.Keys(r.Args)) {
		out += " " + name + "=" + r.Args[name]
	}
	return Text{En: out, Zh: out}
}

// OfError returns the reason for an error: its text.
func OfError(err error) Reason { return ofError.With("error", err.Error()) }

var ofError = NewReason("error", Text{En: "{error}", Zh: "{error}"})
