package trace

import (
	"encoding/binary"
	"errors"
)

// The columns of a block. Numbers of one kind stand beside each other. Well predicted numbers are a run of zeros, which
// costs next to nothing once it is compressed. "Less" says what is subtracted from a number.
const (
	shapeColumn  = iota // the shape's code; then the shape, if it is new
	seqColumn           // less that of the event before, less one
	monoColumn          // less that of the event before
	offsetColumn        // wall clock less mono, less that of the event before
	refColumn           // the place of the event's span among the open ones; 0: none
	spanColumn          // less the newest span, less one; if the span is not open
	parentColumn        // the place of the parent among the open spans, or a number
	podColumn           // less that of the span, or of the parent
	syncColumn          // less the pod's last
	lengthColumn        // duration; of an exit, less the time since the enter
	countColumn         // the number of fields; see encode.go
	sizeColumn          // of texts that differ from the last ones
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

// reading is a column that is being read. The first error stays in err.
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

// bytes returns the next n bytes: a part of the column, not a copy.
func (r *reading) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.err, r.rest = errShort, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
