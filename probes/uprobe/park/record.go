package park

import (
	"bytes"
	"encoding/binary"
	"time"
)

// A parked goroutine's record stands in the frame from which it waits, above the seven
// words that the called function may use: the word that it waits for, the deadline, and
// by what it is known as one of ours.
const (
	recordAt   = 7 * 8
	recordSize = 64
	recordEnd  = recordAt + recordSize

	deadlineAt = 8
	magicAt    = 24
	idAt       = 32
	sinceAt    = 40
	placeAt    = 48
)

// awaited is the value of the word, of which nobody waits for a change.
const awaited = 0x70617264

var magic = [8]byte{'p', 'o', 'd', 's', 't', 'e', 'p', 1}

// Wait is a goroutine that is parked.
type Wait struct {
	PID, TID int
	// Hold is the number by which who parked it knows it.
	Hold uint64
	// Place is the address of the place, as the program was linked.
	Place uint64
	// Since is when it was parked, and Until when the kernel ends the wait, if nobody
	// changes that: both as Now has it.
	Since, Until time.Duration

	at  uint64 // the address of its record
	set setter // sets the registers of its thread
}

func (w *Wait) encode(b []byte) {
	binary.LittleEndian.PutUint64(b, awaited)
	copy(b[deadlineAt:], w.deadline())
	copy(b[magicAt:], magic[:])
	binary.LittleEndian.PutUint64(b[idAt:], w.Hold)
	binary.LittleEndian.PutUint64(b[sinceAt:], uint64(w.Since))
	binary.LittleEndian.PutUint64(b[placeAt:], w.Place)
}

// deadline is Until as the kernel reads it.
func (w *Wait) deadline() []byte {
	b := make([]byte, 16)
	binary.LittleEndian.PutUint64(b, uint64(w.Until/time.Second))
	binary.LittleEndian.PutUint64(b[8:], uint64(w.Until%time.Second))
	return b
}

// decode reads a record; ok is false for anything else.
func (w *Wait) decode(b []byte) (ok bool) {
	if len(b) < recordSize || !bytes.Equal(b[magicAt:magicAt+8], magic[:]) || binary.LittleEndian.Uint32(b) != awaited {
		return false
	}
	seconds, rest := binary.LittleEndian.Uint64(b[deadlineAt:]), binary.LittleEndian.Uint64(b[deadlineAt+8:])
	const century = 100 * 365 * 86400
	if seconds > century || rest >= uint64(time.Second) {
		return false
	}
	w.Until = time.Duration(seconds)*time.Second + time.Duration(rest)
	w.Hold = binary.LittleEndian.Uint64(b[idAt:])
	w.Since = time.Duration(binary.LittleEndian.Uint64(b[sinceAt:]))
	w.Place = binary.LittleEndian.Uint64(b[placeAt:])
	return true
}
