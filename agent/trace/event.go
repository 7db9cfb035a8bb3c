package trace

import (
	"bytes"

	"github.com/podstep/podstep/agent/wire"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxFields bounds the fields of an event that is taken apart.
const maxFields = 1 << 10

// Numbers of agentpb.Event's members that are text.
const (
	fieldsMember = 11
	errorMember  = 12
)

// event is an encoded event, taken apart.
type event struct {
	wire.Header
	// fields are the encoded fields, parts of the encoded event.
	fields [][]byte
}

// read takes raw apart. It tells whether append makes the same bytes of it
// again: so it is for what our agents send, but a newer agent may send more.
func (e *event) read(raw []byte, scratch []byte) (same bool, used []byte) {
	h, err := wire.ReadHeader(raw)
	if err != nil {
		return false, scratch
	}
	e.Header, e.fields = h, e.fields[:0]
	for b := raw; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if num == fieldsMember && typ == protowire.BytesType {
			field, _ := protowire.ConsumeBytes(b[n:])
			e.fields = append(e.fields, field)
		}
		b = b[n+m:]
	}
	scratch = e.append(scratch[:0])
	return len(e.fields) <= maxFields && bytes.Equal(scratch, raw), scratch
}

// append appends the event in the form in which the agent encodes it.
func (e *event) append(b []byte) []byte {
	b = appendUint(b, 1, e.Seq)
	b = appendUint(b, 2, uint64(e.Time))
	b = appendUint(b, 3, uint64(e.Mono))
	b = appendUint(b, 4, uint64(e.Kind))
	b = appendUint(b, 5, uint64(e.Step))
	b = appendUint(b, 6, uint64(e.Pod))
	b = appendUint(b, 7, e.Span)
	b = appendUint(b, 8, e.Parent)
	b = appendUint(b, 9, uint64(e.Sync))
	b = appendUint(b, 10, uint64(e.Goroutine))
	for _, f := range e.fields {
		b = appendBytes(b, fieldsMember, f)
	}
	if len(e.ErrorText) > 0 {
		b = appendBytes(b, errorMember, e.ErrorText)
	}
	return appendUint(b, 13, uint64(e.Duration))
}

// size is what the encoded event can have at most.
func (e *event) size() int {
	const numbers = 11 * (1 + 10) // members of one byte and ten each
	n := numbers + 1 + protowire.SizeBytes(len(e.ErrorText))
	for _, f := range e.fields {
		n += 1 + protowire.SizeBytes(len(f))
	}
	return n
}

func appendUint(b []byte, num byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, num<<3|byte(protowire.VarintType)), v)
}

func appendBytes(b []byte, num byte, v []byte) []byte {
	return protowire.AppendBytes(append(b, num<<3|byte(protowire.BytesType)), v)
}
