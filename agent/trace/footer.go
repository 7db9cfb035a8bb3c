package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNoFooter is the error for a trace without a footer: its writer was killed, still writes, or writes none.
var ErrNoFooter = errors.New("the trace has no footer")

// Bounds of what is read of a trace's end.
const (
	maxEnd    = blockSize + 64 // of the end mark with the place of the footer, in bytes
	maxFooter = 4 << 20
)

// ReadFooter returns the footer of a trace of that size in bytes. It reads the trace's end, not the trace. The error is
// ErrNoFooter if there is none, or none that is whole.
func ReadFooter(r io.ReaderAt, size int64) ([]byte, error) {
	u, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	defer u.zstd.Close()
	at, end, err := findFooter(u, r, size)
	if err != nil {
		return nil, err
	}
	b, footer, err := u.next(io.NewSectionReader(r, at, end-at))
	if err != nil || b.kind != footerBlock || at+b.size() != end {
		return nil, ErrNoFooter
	}
	return bytes.Clone(footer), nil
}

// findFooter returns where the footer's block begins and ends. The end mark is the last block of a file. Its length is
// not known, so each place where it may begin is tried.
func findFooter(u *unpacker, r io.ReaderAt, size int64) (at, end int64, err error) {
	tail := make([]byte, min(size, maxEnd))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("read the end of the trace: %w", err)
	}
	for i := len(tail) - blockSize; i >= 0; i-- {
		b := readBlock(tail[i:])
		if b.kind != endBlock || i+int(b.size()) != len(tail) {
			continue
		}
		_, place, err := u.next(bytes.NewReader(tail[i:]))
		if err != nil || len(place) != 8 {
			continue
		}
		at, end = int64(binary.LittleEndian.Uint64(place)), size-int64(len(tail)-i)
		if at < 0 || at >= end || end-at > maxFooter {
			return 0, 0, ErrNoFooter
		}
		return at, end, nil
	}
	return 0, 0, ErrNoFooter
}
