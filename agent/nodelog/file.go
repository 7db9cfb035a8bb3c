package nodelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// maxLine bounds a line, in bytes. What is longer is cut.
const maxLine = 64 << 10

// pollEvery is how often a file is read again. The log of a kubelet is read without a right to be notified.
const pollEvery = 100 * time.Millisecond

// ErrEnded is returned when the process that wrote the log has ended.
var ErrEnded = errors.New("the process that wrote the log has ended")

// openEnd opens the file at the beginning of a line: the first one that lies no more than size bytes before the end.
func (l *Log) openEnd(size int64) (*os.File, error) {
	f, err := os.OpenFile(l.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end > size {
		// The byte before tells whether a line begins here.
		if _, err = f.Seek(end-size-1, io.SeekStart); err == nil {
			err = skipLine(f)
		}
	} else if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// skipLine moves a file behind the end of the line in which it is.
func skipLine(f *os.File) error {
	block := make([]byte, 4<<10)
	for {
		n, err := f.Read(block)
		if i := bytes.IndexByte(block[:n], '\n'); i >= 0 {
			_, err := f.Seek(int64(i+1-n), io.SeekCurrent)
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// followFile hands over the lines of the file.
func (l *Log) followFile(ctx context.Context, size int64, add func(line string)) error {
	f, err := l.openEnd(size)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer func() { f.Close() }()
	lines := &splitter{add: add}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if err := lines.readAll(f); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		next, err := l.turn(f)
		if err != nil {
			_ = lines.readAll(f) // what it wrote at last
			return err
		}
		if next != nil {
			_ = lines.readAll(f)
			f.Close()
			f = next
		}
	}
}

// turn looks whether the log goes on in another file, and returns that. A file that was cut is read from its beginning.
func (l *Log) turn(f *os.File) (next *os.File, err error) {
	now, err := os.Stat(l.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrEnded
	}
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(now, is) {
		if !now.Mode().IsRegular() {
			return nil, ErrNone
		}
		return os.OpenFile(l.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err == nil && is.Size() < at {
		_, err = f.Seek(0, io.SeekStart)
	}
	return nil, err
}

// splitter makes lines of what is read piece by piece.
type splitter struct {
	add   func(line string)
	block []byte
	rest  []byte // of a line whose end has not come
}

// readAll reads to the present end.
func (s *splitter) readAll(r io.Reader) error {
	if s.block == nil {
		s.block = make([]byte, maxLine)
	}
	for {
		n, err := r.Read(s.block)
		for part := range bytes.SplitAfterSeq(s.block[:n], []byte("\n")) {
			s.addPart(part)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (s *splitter) addPart(part []byte) {
	ended := bytes.HasSuffix(part, []byte("\n"))
	s.rest = append(s.rest, part[:min(len(part), maxLine-len(s.rest))]...)
	if ended {
		s.add(strings.TrimRight(string(s.rest), "\r\n"))
		s.rest = s.rest[:0]
	}
}
