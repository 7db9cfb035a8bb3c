package relay

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
)

// maxBlock is how large a header block may be to be read.
const maxBlock = 1 << 20

var (
	errBlockLarge = errors.New("header block is too large")
	errBlockOrder = errors.New("header block is broken off by another frame")
)

// block is a header block, whole or still being gathered.
type block struct {
	stream    uint32
	endStream bool
	fragment  []byte
	frames    []byte // as they came; nil for a single frame, which is in the pump's buffer
}

// headerReader follows one side's header compression.
type headerReader struct {
	decoder *hpack.Decoder
	fields  []hpack.HeaderField
	open    *block        // begun and not ended
	allowed atomic.Uint32 // the table's size, set by the other side's pump
}

func newHeaderReader() *headerReader {
	r := &headerReader{}
	r.allowed.Store(firstTableSize)
	r.decoder = hpack.NewDecoder(firstTableSize, func(f hpack.HeaderField) { r.fields = append(r.fields, f) })
	r.decoder.SetMaxStringLength(maxBlock)
	return r
}

// allow notes how large a table the other side allows. Until that is acknowledged the old size may still be in use,
// so only growing matters here.
func (r *headerReader) allow(size uint32) {
	r.allowed.Store(max(r.allowed.Load(), min(size, maxTableSize)))
}

// add takes a HEADERS or CONTINUATION frame, and returns the block once it is whole.
func (r *headerReader) add(f *frame) (*block, error) {
	body, err := f.body()
	if f.kind == frameContinuation {
		body, err = f.payload(), nil
	}
	if err != nil {
		return nil, err
	}
	b := r.open
	switch {
	case (f.kind == frameContinuation) != (b != nil), b != nil && b.stream != f.stream, f.stream == 0:
		return nil, errBlockOrder
	case b == nil && f.has(flagEndHeaders):
		return &block{stream: f.stream, endStream: f.has(flagEndStream), fragment: body}, nil
	case b == nil:
		b = &block{stream: f.stream, endStream: f.has(flagEndStream)}
		r.open = b
	}
	if len(b.frames)+len(f.raw) > maxBlock {
		return nil, errBlockLarge
	}
	b.fragment = append(b.fragment, body...)
	b.frames = append(b.frames, f.raw...)
	if !f.has(flagEndHeaders) {
		return nil, nil
	}
	r.open = nil
	return b, nil
}

// giveUp returns the frames that were held back of a block that is not whole.
func (r *headerReader) giveUp() []byte {
	if r.open == nil {
		return nil
	}
	b := r.open.frames
	r.open = nil
	return b
}

// read takes a HEADERS or CONTINUATION frame. Once the block is whole it returns it with its fields, which are good
// until the next read.
func (r *headerReader) read(f *frame) (*block, []hpack.HeaderField, error) {
	b, err := r.add(f)
	if err != nil || b == nil {
		return nil, nil, err
	}
	if err := r.decode(b.fragment); err != nil {
		if b.frames != nil {
			b.frames = b.frames[:len(b.frames)-len(f.raw)]
			r.open = b // for giveUp; this frame is the pump's
		}
		return nil, nil, err
	}
	return b, r.fields, nil
}

func (r *headerReader) decode(fragment []byte) error {
	r.fields = r.fields[:0]
	r.decoder.SetAllowedMaxDynamicTableSize(r.allowed.Load())
	if _, err := r.decoder.Write(fragment); err != nil {
		return err
	}
	return r.decoder.Close()
}

// encodePlain writes a header block that does not depend on earlier blocks. It begins by emptying the reader's
// table, so it is right whatever the peer has put there. It stays right, because the table is never filled again.
func encodePlain(fields []hpack.HeaderField) []byte {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	e.SetMaxDynamicTableSize(0)
	for _, f := range fields {
		e.WriteField(f) //nolint:errcheck // a bytes.Buffer takes everything
	}
	return out.Bytes()
}

// request is what the headers that begin a call say.
type request struct {
	path, encoding string
	timeout        time.Duration // -1: none
}

func readRequest(fields []hpack.HeaderField) request {
	r := request{timeout: -1}
	for _, f := range fields {
		switch f.Name {
		case ":path":
			r.path = f.Value
		case "grpc-encoding":
			r.encoding = f.Value
		case "grpc-timeout":
			r.timeout = parseTimeout(f.Value)
		}
	}
	return r
}

func field(fields []hpack.HeaderField, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

var timeoutUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second,
	'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// parseTimeout reads a grpc-timeout. It returns -1 for a text that is none.
func parseTimeout(s string) time.Duration {
	if len(s) < 2 || len(s) > 9 {
		return -1
	}
	unit, ok := timeoutUnits[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if !ok || err != nil {
		return -1
	}
	const longest = time.Duration(1<<63 - 1)
	if n > uint64(longest/unit) {
		return longest
	}
	return time.Duration(n) * unit
}

// decodeBinary reads the value of a -bin header, padded or not.
func decodeBinary(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}
