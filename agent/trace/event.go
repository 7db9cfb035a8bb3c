package trace

import (
	"bytes"

	"github.com/podstep/podstep/agent/wire"
)

// maxFields bounds the fields of an event that is taken apart.
const maxFields = 1 << 10

// event is an encoded event, taken apart.
type event struct {
	wire.Header
	// fields are the encoded fields, parts of the encoded event.
	fields [][]byte
}

// read takes raw apart. It reports whether append would make the same bytes again, and the columns can hold the event.
// That is so for what our agents send, but a newer agent may send more.
func (e *event) read(raw []byte, scratch []byte) (same bool, used []byte) {
	h, err := wire.ReadHeader(raw)
	if err != nil {
		return false, scratch
	}
	e.Header, e.fields = h, e.fields[:0]
	for field := range wire.EncodedFields(raw) {
		e.fields = append(e.fields, field)
	}
	scratch = e.append(scratch[:0])
	// The columns have no place for the probe, which few events name, and for the line of the caller.
	return e.Probe == 0 && e.CallerLine == 0 && len(e.fields) <= maxFields && bytes.Equal(scratch, raw), scratch
}

// append appends the event in the form in which the agent encodes it.
func (e *event) append(b []byte) []byte {
	b = e.AppendHead(b)
	for _, f := range e.fields {
		b = wire.AppendField(b, f)
	}
	return wire.AppendTail(b, e.ErrorText, e.Duration, e.Probe, e.CallerLine)
}

// size returns the most bytes that the encoded event can have.
func (e *event) size() int { return wire.MaxSize(e.fields, e.ErrorText) }
