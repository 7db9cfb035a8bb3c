package wire

import (
	"errors"
	"fmt"

	"github.com/podstep/podstep/agent/agentpb"
	"google.golang.org/protobuf/encoding/protowire"
)

// Header is an event without its fields. The numbers are those of
// agentpb.Event; Decoder.Step, Pod and Goroutine say what they stand for.
type Header struct {
	Seq       uint64
	Time      int64 // nanoseconds since 1970
	Mono      int64 // nanoseconds since the agent began
	Kind      agentpb.Kind
	Step, Pod uint32
	Span      uint64
	Parent    uint64
	Sync      uint32
	Goroutine uint32
	Duration  int64 // nanoseconds
	Probe     uint32
	// CallerLine is zero except on an enter.
	CallerLine uint32
	HasError   bool
	// ErrorText is a part of the encoded event, not a copy.
	ErrorText []byte
}

// ReportsState reports whether the event says how a probe fares. What the probe can do may have changed, too.
func (h *Header) ReportsState() bool {
	return h.Kind == agentpb.Kind_NOTE && h.Step == 0 && h.Probe > 0
}

var errVarint = errors.New("read event: a number is cut short or too long")

// ReadHeader reads an event's header. It reads whatever proto.Unmarshal reads, to the same values. It differs only in
// that it does not look into fields.
func ReadHeader(raw []byte) (h Header, err error) {
	for i := 0; i < len(raw); {
		tag, n := uvarint(raw[i:])
		if n <= 0 {
			return h, errVarint
		}
		i += n
		num, typ := tag>>3, protowire.Type(tag&7)
		switch {
		case typ == protowire.VarintType && num != 0 && num <= uint64(protowire.MaxValidNumber):
			v, n := uvarint(raw[i:])
			if n <= 0 {
				return h, errVarint
			}
			i += n
			h.set(num, v)
		case typ == protowire.BytesType && (num == fieldsMember || num == errorMember):
			size, n := uvarint(raw[i:])
			if n <= 0 || size > uint64(len(raw)-i-n) {
				return h, fmt.Errorf("read event: member %d is cut short", num)
			}
			i += n
			if num == errorMember {
				h.ErrorText = raw[i : i+int(size) : i+int(size)]
				h.HasError = size > 0
			}
			i += int(size)
		default:
			n, err := skip(raw[i:], num, typ)
			if err != nil {
				return h, err
			}
			i += n
		}
	}
	return h, nil
}

// Peek reads the members of an encoded event up to Pod, as AppendHead appended
// them, and leaves the others zero. It is for bytes that are known to be whole
// and in order: it stops without an error where they are not.
func Peek(raw []byte) (h Header) {
	for i := 0; i < len(raw); {
		tag := raw[i]
		if tag>>3 > podMember || protowire.Type(tag&7) != protowire.VarintType {
			break
		}
		v, n := uvarint(raw[i+1:])
		if n <= 0 {
			break
		}
		h.set(uint64(tag>>3), v)
		i += 1 + n
	}
	return h
}

func (h *Header) set(num, v uint64) {
	switch num {
	case seqMember:
		h.Seq = v
	case timeMember:
		h.Time = int64(v)
	case monoMember:
		h.Mono = int64(v)
	case kindMember:
		h.Kind = agentpb.Kind(v)
	case stepMember:
		h.Step = uint32(v)
	case podMember:
		h.Pod = uint32(v)
	case spanMember:
		h.Span = v
	case parentMember:
		h.Parent = v
	case syncMember:
		h.Sync = uint32(v)
	case goroutineMember:
		h.Goroutine = uint32(v)
	case durationMember:
		h.Duration = int64(v)
	case probeMember:
		h.Probe = uint32(v)
	case lineMember:
		h.CallerLine = uint32(v)
	}
}

// skip passes over a member that is not known: agents may be newer.
func skip(b []byte, num uint64, typ protowire.Type) (int, error) {
	if num == 0 || num > uint64(protowire.MaxValidNumber) {
		return 0, fmt.Errorf("read event: there is no member %d", num)
	}
	n := protowire.ConsumeFieldValue(protowire.Number(num), typ, b)
	if n < 0 {
		return 0, fmt.Errorf("read event: member %d: %w", num, protowire.ParseError(n))
	}
	return n, nil
}
