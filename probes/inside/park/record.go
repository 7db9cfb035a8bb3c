//go:build linux

package park

import (
	"bytes"
	"encoding/binary"
	"time"
)

// layout states where the parts of a record are, in bytes from its begin. blocked and timeout are what the system call
// reads: the signals that it blocks, and how long it waits. The others identify it as a record of podstep's. size is the
// size of the whole, which may have other words in between.
type layout struct{ blocked, timeout, magic, id, since, place, until, size uint64 }

// On amd64 a parked goroutine's record stands in the frame from which it waits, above the seven words that the called
// function may use.
const x86Record = 7 * 8

var x86Layout = layout{blocked: 0, timeout: 8, magic: 24, id: 32, since: 40, place: 48, until: 56, size: 64}

// On arm64, what the system call reads stands in that frame, above the address to return to and the seven words. The rest
// is in the frame above it, debugCallV2's.
const (
	a64Record = 8 + 7*8
	// a64RoomFrame is the size of RawSyscall6's frame.
	a64RoomFrame = 96
	// a64Unused are the words of debugCallV2's frame that nothing uses behind the last BRK: arguments of a function that is
	// not called, and the size of its arguments.
	a64UnusedLow, a64UnusedHigh = 8, 256
	a64Debug                    = a64RoomFrame - a64Record // where that frame begins
)

var a64Layout = layout{
	blocked: 0, timeout: 8, magic: a64Debug + a64UnusedLow, id: a64Debug + a64UnusedLow + 8, since: a64Debug + a64UnusedLow + 16,
	place: a64Debug + a64UnusedHigh, until: a64Debug + a64UnusedHigh + 8, size: a64Debug + a64UnusedHigh + 16,
}

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

// encode writes the record and no word in between.
func (w *Wait) encode(l *layout, b []byte) {
	binary.LittleEndian.PutUint64(b[l.blocked:], blocked)
	copy(b[l.timeout:], timeout(w.Until-Now()))
	copy(b[l.magic:], magic[:])
	binary.LittleEndian.PutUint64(b[l.id:], w.Hold)
	binary.LittleEndian.PutUint64(b[l.since:], uint64(w.Since))
	binary.LittleEndian.PutUint64(b[l.place:], w.Place)
	binary.LittleEndian.PutUint64(b[l.until:], uint64(w.Until))
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
func (w *Wait) decode(l *layout, b []byte) (ok bool) {
	if uint64(len(b)) < l.size || !bytes.Equal(b[l.magic:l.magic+8], magic[:]) || binary.LittleEndian.Uint64(b[l.blocked:]) != blocked {
		return false
	}
	const century = 100 * 365 * 24 * time.Hour
	w.Until = time.Duration(binary.LittleEndian.Uint64(b[l.until:]))
	if w.Until < 0 || w.Until > century {
		return false
	}
	w.Hold = binary.LittleEndian.Uint64(b[l.id:])
	w.Since = time.Duration(binary.LittleEndian.Uint64(b[l.since:]))
	w.Place = binary.LittleEndian.Uint64(b[l.place:])
	return true
}
