package logstory

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Stdin stands for the standard input in place of a file.
const Stdin = "-"

// input is a log that is read twice.
type input struct {
	name string
	file *os.File
	// member is its path in an archive or a directory.
	member string
	// written is when the file was last written to: no entry is later.
	written time.Time
	// zone is the zone of the log's clock; nil: podstep has not found it.
	zone *time.Location
}

// openInput opens a file. What cannot be read twice is copied first, to a file that is gone when podstep ends.
func openInput(name string) (*input, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, err
	case !info.Mode().IsRegular():
		defer f.Close()
		return spool(name, f, time.Now())
	}
	return &input{name: name, file: f, written: info.ModTime()}, nil
}

func spool(name string, from io.Reader, written time.Time) (*input, error) {
	f, err := os.CreateTemp("", "podstep-log-")
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", name, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy %s: %w", name, err)
	}
	if _, err := io.Copy(f, from); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy %s: %w", name, err)
	}
	return &input{name: name, file: f, written: written}, nil
}

// open returns the text of the log from its beginning on, unpacked.
func (in *input) open() (io.ReadCloser, error) {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", in.name, err)
	}
	text, err := unpack(bufio.NewReaderSize(in.file, 256<<10))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.name, err)
	}
	return text, nil
}

// unpack returns a text that may be packed.
func unpack(b *bufio.Reader) (io.ReadCloser, error) {
	begin, err := b.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		return z.IOReadCloser(), nil
	case bytes.HasPrefix(begin, []byte("\xfd7zXZ\x00")):
		z, err := xz.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		return io.NopCloser(bufio.NewReaderSize(z, 64<<10)), nil
	}
	return io.NopCloser(b), nil
}
