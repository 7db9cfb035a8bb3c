package trace

import (
	"encoding/binary"
	"errors"
)

// The columns of a block. Numbers of one kind stand beside each other: what is
// predicted well is a run of zeros, which costs next to nothing when it is
// compressed.
const (
	shapeColumn  = iota // which shape; then the shape, if it is new
	seqColumn           // against the one before, plus one
	monoColumn          // against the one before
	offsetColumn        // of the wall clock from mono, against the one before
	refColumn           // the open span that the event is about
	spanColumn          // against the newest span, plus one
	parentColumn        // which open span is the parent, or a number
	podColumn           // against the span's, or the parent's
	syncColumn          // against the pod's last
	lengthColumn        // of a step, against mono since its enter
	countColumn         // how many fields
	sizeColumn          // of texts that are not as last time
	textColumn          // those texts
	podsColumn          // the pods of a batch
	columns
)

var errShort = errors.New("a column is too short")

// column is written at its end and read from its beginning.
type column []byte

func (c *column) putUint(v uint64) { *c = binary.AppendUvarint(*c, v) }

func (c *column) putInt(v int64) { *c = binary.AppendVarint(*c, v) }

func (c *column) putText(s string) {
	c.putUint(uint64(len(s)))
	*c = append(*c, s...)
}

// reading is a column that is read. An error stays until somebody asks.
type reading struct {
	rest []byte
	err  error
}

func (r *reading) uint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return v
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.err, r.rest = errShort, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reading) int() int64 {
	v := r.uint()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes gives the next n bytes, which are those of the column, not a copy.
func (r *reading) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.err, r.rest = errShort, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
