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
)

// Stdin stands for the standard input in place of a file.
const Stdin = "-"

// input is a log that is read twice.
type input struct {
	name string
	file *os.File
	// written is when the file was last written to: no entry is later.
	written time.Time
}

// openInput opens a file. What cannot be read twice is copied first, to a file that is gone when podstep ends.
func openInput(name string) (*input, error) {
	if name == Stdin {
		return spool("standard input", os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, err
	case info.IsDir():
		f.Close()
		return nil, fmt.Errorf("read %s: it is a directory; name the files in it", name)
	case !info.Mode().IsRegular():
		defer f.Close()
		return spool(name, f)
	}
	return &input{name: name, file: f, written: info.ModTime()}, nil
}

func spool(name string, from io.Reader) (*input, error) {
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
	return &input{name: name, file: f, written: time.Now()}, nil
}

// open returns the text of the log from its beginning on, unpacked.
func (in *input) open() (io.ReadCloser, error) {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", in.name, err)
	}
	b := bufio.NewReaderSize(in.file, 256<<10)
	begin, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", in.name, err)
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", in.name, err)
		}
		return z, nil
	case bytes.HasPrefix(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", in.name, err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}
