//go:build linux

package uprobe

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// recordOf returns the record that begins at b, without a copy. It returns nil if there is none.
func recordOf(b []byte) *reading.Record {
	if uintptr(len(b)) < unsafe.Sizeof(reading.Record{}) || uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
		return nil
	}
	return (*reading.Record)(unsafe.Pointer(&b[0]))
}

// valueIn returns a source's value in a record, as woven code would give it; nil: it could not be read.
func valueIn(r *reading.Record, s source) any {
	if s.slot < 0 {
		return nil
	}
	switch s.form.Kind {
	case memory.String:
		if text, ok := r.TextIn(s.slot); ok {
			return text
		}
		return nil
	case memory.Time:
		if b, ok := r.BytesIn(s.slot); ok && len(b) >= 16 {
			return timeOf(b)
		}
		return nil
	}
	n, ok := r.NumberIn(s.slot)
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

// podIn returns the pod that a record has in some sources.
func podIn(r *reading.Record, parts []source) any {
	var p probes.PodRef
	for _, s := range parts {
		text, _ := r.TextIn(s.slot)
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
