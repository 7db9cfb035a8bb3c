//go:build linux

package uprobe

import (
	"encoding/binary"
	"strings"
	"time"
	"unsafe"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// recordOf returns the record that begins at b, without a copy. It returns nil if there is none.
func recordOf(b []byte) *record {
	if uintptr(len(b)) < unsafe.Sizeof(record{}) || uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
		return nil
	}
	return (*record)(unsafe.Pointer(&b[0]))
}

// bytes returns the bytes in a slot. ok is false if there are none.
func (r *record) bytes(slot int) (b []byte, ok bool) {
	if slot < 0 || slot >= maxValues || r.Have[slot] != haveText && r.Have[slot] != haveCut {
		return nil, false
	}
	at, n := int(r.Value[slot]>>32), int(uint32(r.Value[slot]))
	if at > maxText || n > maxText-at {
		return nil, false
	}
	return r.Text[at : at+n], true
}

// text returns the text in a slot. ok is false if there is none. Of a text that is cut the last word is missing: it may
// be the half of a secret, which nobody would recognise.
func (r *record) text(slot int) (s string, ok bool) {
	b, ok := r.bytes(slot)
	if !ok {
		return "", false
	}
	if r.Have[slot] == haveCut {
		return redact.Begin(strings.ToValidUTF8(string(b), "\uFFFD")), true
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), true
}

// number returns the number in a slot. ok is false if there is none.
func (r *record) number(slot int) (n uint64, ok bool) {
	if slot < 0 || slot >= maxValues || r.Have[slot] != haveNumber {
		return 0, false
	}
	return r.Value[slot], true
}

// value returns a source's value, as woven code would give it; nil: it could not be read.
func (r *record) value(s source) any {
	if s.slot < 0 {
		return nil
	}
	switch s.form.Kind {
	case memory.String:
		if text, ok := r.text(s.slot); ok {
			return text
		}
		return nil
	case memory.Time:
		if b, ok := r.bytes(s.slot); ok && len(b) >= 16 {
			return timeOf(b)
		}
		return nil
	}
	n, ok := r.number(s.slot)
	if !ok {
		return nil
	}
	switch s.form.Kind {
	case memory.Bool:
		return byte(n) != 0
	case memory.IsNil:
		return n == 0
	case memory.NotNil:
		return n != 0
	case memory.Duration:
		return time.Duration(n)
	}
	i := integer(s.form.Kind, n)
	if name, ok := s.form.Names[i]; ok {
		return name
	}
	return i
}

// integer returns the number of a kind that is in the low bytes of a word.
func integer(k memory.Kind, n uint64) int64 {
	switch k {
	case memory.Int8:
		return int64(int8(n))
	case memory.Int16:
		return int64(int16(n))
	case memory.Int32:
		return int64(int32(n))
	case memory.Uint8:
		return int64(uint8(n))
	case memory.Uint16:
		return int64(uint16(n))
	case memory.Uint32:
		return int64(uint32(n))
	}
	return int64(n)
}

// timeOf returns the time.Time that has these two words. If it has a monotonic part, the first word has the seconds
// since 1885 next to the nanoseconds. Otherwise the second word has the seconds since the year 1. A zero time gives
// nil.
func timeOf(b []byte) any {
	wall, seconds := binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:]))
	const (
		hasMonotonic  = 1 << 63
		nanoseconds   = 1<<30 - 1
		year1To1885   = 59453308800
		year1ToEpoch  = 62135596800
		secondsOfWall = 33
	)
	if wall&hasMonotonic != 0 {
		seconds = year1To1885 + int64(wall<<1>>(64-secondsOfWall))
	}
	if seconds == 0 && wall&nanoseconds == 0 {
		return nil
	}
	return time.Unix(seconds-year1ToEpoch, int64(wall&nanoseconds))
}

// pod returns the pod that a record has in some sources.
func (r *record) pod(parts []source) any {
	var p probes.PodRef
	for _, s := range parts {
		text, _ := r.text(s.slot)
		switch s.name {
		case memory.UID:
			p.UID = text
		case memory.Namespace:
			p.Namespace = text
		case memory.Name:
			p.Name = text
		case memory.Version:
			p.Version = text
		case memory.ID:
			return text
		}
	}
	if p.UID == "" {
		return nil
	}
	return p
}
