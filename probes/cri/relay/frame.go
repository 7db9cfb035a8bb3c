package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// preface is what an HTTP/2 client sends first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The frames of HTTP/2 (RFC 9113, section 6), and the parts of them that matter here.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9

	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	settingTableSize     = 0x1
	settingInitialWindow = 0x4
	settingMaxFrame      = 0x5

	headLen     = 9
	minMaxFrame = 16 << 10
	firstWindow = 1<<16 - 1
	maxStreamID = math.MaxInt32
	resetCancel = 0x8

	firstTableSize = 4096
	maxTableSize   = 1 << 20
)

var (
	errPadding = errors.New("padding is longer than the frame")
	errShort   = errors.New("frame is too short")
)

// frame is a whole frame in a pump's buffer.
type frame struct {
	kind, flags byte
	stream      uint32
	raw         []byte // with its head
}

// frameLen returns the length of the frame whose head b begins with, head included.
func frameLen(b []byte) int {
	return headLen + int(b[0])<<16 + int(b[1])<<8 + int(b[2])
}

func parseFrame(raw []byte) frame {
	return frame{kind: raw[3], flags: raw[4], stream: binary.BigEndian.Uint32(raw[5:]) & maxStreamID, raw: raw}
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

func (f *frame) payload() []byte { return f.raw[headLen:] }

// body returns the payload without padding, and without the priority of HEADERS.
func (f *frame) body() ([]byte, error) {
	b := f.payload()
	if f.has(flagPadded) {
		if len(b) == 0 {
			return nil, errShort
		}
		pad := int(b[0])
		if b = b[1:]; pad > len(b) {
			return nil, errPadding
		}
		b = b[:len(b)-pad]
	}
	if f.kind == frameHeaders && f.has(flagPriority) {
		if len(b) < 5 {
			return nil, errShort
		}
		b = b[5:]
	}
	return b, nil
}

// number returns the one number that WINDOW_UPDATE and RST_STREAM consist of.
func (f *frame) number() (uint32, error) {
	if b := f.payload(); len(b) == 4 {
		return binary.BigEndian.Uint32(b), nil
	}
	return 0, fmt.Errorf("frame of kind %d has %d bytes, not 4", f.kind, len(f.payload()))
}

// settings calls set for each setting of a SETTINGS frame.
func (f *frame) settings(set func(id uint16, value uint32)) error {
	b := f.payload()
	if f.stream != 0 || len(b)%6 != 0 {
		return errors.New("malformed SETTINGS")
	}
	if f.has(flagAck) {
		return nil
	}
	for ; len(b) > 0; b = b[6:] {
		set(binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:]))
	}
	return nil
}

func appendHead(b []byte, length int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendWindow(b []byte, stream uint32, n int64) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameWindow, 0, stream), uint32(n))
}

func appendReset(b []byte, stream, code uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameReset, 0, stream), code)
}

// appendGoAway appends a frame that asks for no new streams. Streams that are open, or are opened before it is
// read, go on.
func appendGoAway(b []byte) []byte {
	b = appendHead(b, 8, frameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, maxStreamID)
	return binary.BigEndian.AppendUint32(b, 0)
}

// appendHeaders appends a header block, cut into frames that any peer accepts.
func appendHeaders(b []byte, stream uint32, block []byte, endStream bool) []byte {
	kind, flags := byte(frameHeaders), byte(0)
	if endStream {
		flags = flagEndStream
	}
	for {
		n := min(len(block), minMaxFrame)
		if n == len(block) {
			flags |= flagEndHeaders
		}
		b = append(appendHead(b, n, kind, flags, stream), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return b
		}
		kind, flags = frameContinuation, 0
	}
}
