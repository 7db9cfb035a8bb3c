package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of agentpb.Event's members. A test compares them with the descriptor.
const (
	seqMember       = 1
	timeMember      = 2
	monoMember      = 3
	kindMember      = 4
	stepMember      = 5
	podMember       = 6
	spanMember      = 7
	parentMember    = 8
	syncMember      = 9
	goroutineMember = 10
	fieldsMember    = 11
	errorMember     = 12
	durationMember  = 13
	probeMember     = 14
	lineMember      = 15
)

// nameMember is the number of agentpb.Field's name. The numbers of its values
// are those of ValueKind.
const nameMember = 1

// member is one member of an encoded message.
type member struct {
	num  protowire.Number
	typ  protowire.Type
	uint uint64 // of a varint, or of eight fixed bytes
	// bytes is a part of the encoded message, not a copy.
	bytes []byte
}

// next reads the first member of b and returns what follows it. It returns
// false if b is empty or does not begin with a whole member.
func next(b []byte) (m member, rest []byte, ok bool) {
	tag, n := uvarint(b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return m, nil, false
	}
	m.num, m.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	b = b[n:]
	switch m.typ {
	case protowire.VarintType:
		m.uint, n = uvarint(b)
	case protowire.BytesType:
		m.bytes, n = bytesOf(b)
	case protowire.Fixed64Type:
		m.uint, n = protowire.ConsumeFixed64(b)
	default:
		n = protowire.ConsumeFieldValue(m.num, m.typ, b)
	}
	if n < 0 || n == 0 {
		return m, nil, false
	}
	return m, b[n:], true
}

// bytesOf reads bytes with their length before them. A negative size is an
// error.
func bytesOf(b []byte) (v []byte, size int) {
	length, n := uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, -1
	}
	end := n + int(length)
	return b[n:end:end], end
}

// uvarint is protowire.ConsumeVarint, made fast for the many numbers of one byte. A result of 0 or less is an error.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

// sizeOf returns the size of the member that follows its tag; negative if it cannot be read.
func sizeOf(b []byte, tag uint64) int {
	if protowire.Type(tag&7) == protowire.VarintType && tag>>3 != 0 && tag>>3 <= uint64(protowire.MaxValidNumber) {
		for i := 0; i < len(b) && i < binary.MaxVarintLen64; i++ {
			if b[i] < 0x80 {
				return i + 1
			}
		}
		return -1
	}
	n, err := skip(b, tag>>3, protowire.Type(tag&7))
	if err != nil {
		return -1
	}
	return n
}
