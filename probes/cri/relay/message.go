package relay

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// prefixLen is the length of the prefix that gRPC puts before a message: whether it is compressed, and its
	// length.
	prefixLen = 5
	// maxMessage is the largest message that is looked at, also uncompressed.
	maxMessage = 16 << 20
)

var errMessageLarge = errors.New("message is too large")

// messageLen returns the length of the message that b begins with, prefix included; 0 if it is not known yet.
func messageLen(b []byte) int64 {
	if len(b) < prefixLen {
		return 0
	}
	return prefixLen + int64(binary.BigEndian.Uint32(b[1:]))
}

// plainMessage returns the message behind its prefix, uncompressed.
func plainMessage(b []byte, encoding string) ([]byte, error) {
	if b[0] == 0 {
		return b[prefixLen:len(b):len(b)], nil
	}
	if encoding != "gzip" {
		return nil, fmt.Errorf("compression %q is not known", encoding)
	}
	r, err := gzip.NewReader(bytes.NewReader(b[prefixLen:]))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxMessage+1))
	if err == nil && len(out) > maxMessage {
		err = errMessageLarge
	}
	return out, err
}

// answer gathers the first message of a call's answer while it goes by.
type answer struct {
	bytes    []byte
	encoding string
	unseen   bool // too large, or there is no room
}

// add takes bytes of the answer, and returns how much more room it takes now. room is how much it may take.
func (a *answer) add(b []byte, room int64) int64 {
	had := int64(len(a.bytes))
	if a.unseen {
		return 0
	}
	need := a.need(b)
	if need > maxMessage+prefixLen {
		room = -1
	} else if need > 0 {
		b = b[:min(int64(len(b)), need-had)]
	}
	if int64(len(b)) > room {
		a.unseen, a.bytes = true, nil
		return -had
	}
	a.bytes = grow(a.bytes, b, need)
	return int64(len(b))
}

// grow appends b to the bytes gathered of something of length need. It makes room in few steps, yet not for all
// that the length promises.
func grow(to, b []byte, need int64) []byte {
	if len(to)+len(b) > cap(to) {
		room := min(need, int64(max(64<<10, 4*cap(to))))
		to = slices.Grow(to, max(len(b), int(room)-len(to)))
	}
	return append(to, b...)
}

// need returns the length of the message, if b comes next of it.
func (a *answer) need(b []byte) int64 {
	if len(a.bytes) >= prefixLen {
		return messageLen(a.bytes)
	}
	var head [prefixLen]byte
	n := copy(head[:], a.bytes)
	n += copy(head[n:], b)
	return messageLen(head[:n])
}

// message returns the answer, or nil if there is none that can be read.
func (a *answer) message() []byte {
	need := messageLen(a.bytes)
	if need == 0 || int64(len(a.bytes)) < need {
		return nil
	}
	m, err := plainMessage(a.bytes, a.encoding)
	if err != nil {
		return nil
	}
	return m
}
