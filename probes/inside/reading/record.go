package reading

import (
	"strings"

	"github.com/podstep/podstep/agent/redact"
)

// BytesIn returns the bytes in a slot. ok is false if there are none.
func (r *Record) BytesIn(slot int) (b []byte, ok bool) {
	if slot < 0 || slot >= MaxValues || r.Have[slot] != HaveText && r.Have[slot] != HaveCut {
		return nil, false
	}
	at, n := int(r.Value[slot]>>32), int(uint32(r.Value[slot]))
	if at > MaxText || n > MaxText-at {
		return nil, false
	}
	return r.Text[at : at+n], true
}

// TextIn returns the text in a slot. ok is false if there is none. Of a text that is cut the last word is missing: it may
// be the half of a secret, which nobody would recognise.
func (r *Record) TextIn(slot int) (s string, ok bool) {
	b, ok := r.BytesIn(slot)
	if !ok {
		return "", false
	}
	if r.Have[slot] == HaveCut {
		return redact.Begin(strings.ToValidUTF8(string(b), "\uFFFD")), true
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), true
}

// NumberIn returns the number in a slot. ok is false if there is none.
func (r *Record) NumberIn(slot int) (n uint64, ok bool) {
	if slot < 0 || slot >= MaxValues || r.Have[slot] != HaveNumber {
		return 0, false
	}
	return r.Value[slot], true
}

// UID returns the pod's uid in a record, or an empty text.
func (r *Record) UID() string {
	text, ok := r.TextIn(0)
	if !ok || len(text) != UIDLength {
		return ""
	}
	return text
}

// Signal marks the record of a thread whose goroutine is held, or may be.
func (r *Record) Signal() { r.Flags |= FlagSignalled }
