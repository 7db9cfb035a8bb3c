//go:build linux

package park

import (
	"bytes"
	"encoding/binary"
	"time"
)

// A record has what the system call reads: the signals that it blocks, and how long it waits. And it has what identifies
// it as a record of podstep's. Where a goroutine's record stands and where its parts are depends on the machine.

// These are the signals by which each thread is made to do a system call, such as setuid: everyThread by Go's runtime and
// glibc, everyThreadMusl by musl. They wait for all threads, with the world stopped.
const everyThread, everyThreadMusl = 33, 34

// blocked are the signals that the thread does not get while it waits, as a mask. These are all signals but the one
// that ends the wait, and those two, for which others wait.
const blocked = ^(uint64(1)<<(Signal-1) | 1<<(everyThread-1) | 1<<(everyThreadMusl-1))

var magic = [8]byte{'p', 'o', 'd', 's', 't', 'e', 'p', 2}

// Wait is a goroutine that is parked.
type Wait struct {
	PID, TID int
	// Hold is the number that the process which parked the goroutine gave it.
	Hold uint64
	// Place is the address of the place, as the program was linked.
	Place uint64
	// Since is when the goroutine was parked. Until is when the kernel ends the wait, unless that is changed. Both
	// are times of Now. If a tracer stops the thread while it waits, the wait lasts longer by that time.
	Since, Until time.Duration

	at  uint64 // the address of its record
	set setter // sets the registers of its thread
}

func (w *Wait) encode(b []byte) {
	binary.LittleEndian.PutUint64(b[blockedAt:], blocked)
	copy(b[timeoutAt:], timeout(w.Until-Now()))
	copy(b[magicAt:], magic[:])
	binary.LittleEndian.PutUint64(b[idAt:], w.Hold)
	binary.LittleEndian.PutUint64(b[sinceAt:], uint64(w.Since))
	binary.LittleEndian.PutUint64(b[placeAt:], w.Place)
	binary.LittleEndian.PutUint64(b[untilAt:], uint64(w.Until))
}

// timeout returns how long to wait, in the kernel's form.
func timeout(d time.Duration) []byte {
	d = max(d, 0)
	b := make([]byte, 16)
	binary.LittleEndian.PutUint64(b, uint64(d/time.Second))
	binary.LittleEndian.PutUint64(b[8:], uint64(d%time.Second))
	return b
}

// decode reads a record; ok is false for anything else.
func (w *Wait) decode(b []byte) (ok bool) {
	if len(b) < recordSize || !bytes.Equal(b[magicAt:magicAt+8], magic[:]) || binary.LittleEndian.Uint64(b[blockedAt:]) != blocked {
		return false
	}
	const century = 100 * 365 * 24 * time.Hour
	w.Until = time.Duration(binary.LittleEndian.Uint64(b[untilAt:]))
	if w.Until < 0 || w.Until > century {
		return false
	}
	w.Hold = binary.LittleEndian.Uint64(b[idAt:])
	w.Since = time.Duration(binary.LittleEndian.Uint64(b[sinceAt:]))
	w.Place = binary.LittleEndian.Uint64(b[placeAt:])
	return true
}
