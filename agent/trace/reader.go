package trace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// Fault is the error at the place where a trace cannot be read any further. All before it is good.
type Fault struct {
	// Offset is where the bad block begins, in bytes. Events is the number of events that were read before it.
	Offset int64
	Events uint64
	// Unfinished: nothing is damaged, but the end mark is missing. The writer was killed, or still writes.
	Unfinished bool
	Why        string
}

func (f *Fault) Error() string {
	if f.Unfinished {
		return fmt.Sprintf("the trace is not finished: after %d events, %s", f.Events, f.Why)
	}
	return fmt.Sprintf("the trace is damaged at byte %d, after %d events: %s", f.Offset, f.Events, f.Why)
}

// Reader reads a trace from its beginning.
type Reader struct {
	source   source
	in       *bufio.Reader
	closer   io.Closer
	unpacker *unpacker
	header   *Header
	decoder  decoder
	offset   int64
	events   uint64
	pods     int64
	err      error
}

// Open opens a trace file.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	r, err := NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open trace %s: %w", path, err)
	}
	r.closer = f
	return r, nil
}

// NewReader reads a trace's header. The error is ErrNoTrace, a *VersionError, a *Fault, or the error of reading.
func NewReader(in io.Reader) (*Reader, error) {
	u, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	r := &Reader{source: source{in: in}, unpacker: u}
	r.in = bufio.NewReaderSize(&r.source, 1<<16)
	counted := &counter{r.in, 0}
	if err := readVersion(counted); err != nil {
		return nil, err
	}
	r.offset = counted.n
	b, payload, err := u.next(r.in)
	if err == nil && b.kind != headerBlock {
		err = errors.New("it does not begin with its header")
	}
	if err == nil {
		r.header, err = parseHeader(payload)
	}
	if err != nil {
		return nil, r.fault(err)
	}
	r.offset += b.size()
	return r, nil
}

func (b *block) size() int64 { return blockSize + int64(b.packed) }

// Header returns what the trace is about.
func (r *Reader) Header() *Header { return r.header }

// Follow makes Next wait for more at the end of the file, until ctx ends or the end mark is read. It must be called
// before Next.
func (r *Reader) Follow(ctx context.Context) { r.source.follow = ctx }

// Next returns the next events, and the pods that they are the first to refer to. The error is io.EOF at the end of the
// trace, a *Fault where it cannot be read any further, or the error of Follow's context. Once it has returned an error,
// it always returns that.
func (r *Reader) Next() (*agentpb.Batch, error) {
	for r.err == nil {
		b, payload, err := r.unpacker.next(r.in)
		if err != nil {
			r.err = r.fault(err)
			break
		}
		var batch *agentpb.Batch
		switch b.kind {
		case endBlock:
			r.err = io.EOF
		case eventsBlock:
			if batch, err = r.batch(&b, payload); err != nil {
				r.err = r.fault(err)
			}
		}
		r.offset += b.size()
		if batch != nil && r.err == nil {
			r.events += uint64(len(batch.Events))
			return batch, nil
		}
	}
	r.decoder = decoder{} // nothing more is read
	return nil, r.err
}

// Events returns how many events have been read.
func (r *Reader) Events() uint64 { return r.events }

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	r.unpacker.zstd.Close()
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

func (r *Reader) batch(b *block, payload []byte) (*agentpb.Batch, error) {
	d := &r.decoder
	switch {
	case b.flags&freshFlag != 0:
		d.model = newModel()
	case d.model == nil || d.model.full():
		return nil, errors.New("a block does not begin anew where it must")
	}
	if err := d.split(payload); err != nil {
		return nil, err
	}
	pods, err := d.pods(maxPods + (r.offset+b.size())/podBytes - r.pods)
	if err != nil {
		return nil, err
	}
	r.pods += int64(len(pods))
	events, err := d.events(int(b.events))
	return &agentpb.Batch{Pods: pods, Events: events, CaughtUp: b.flags&caughtUpFlag != 0}, err
}

// fault returns the error for the place where reading ended.
func (r *Reader) fault(err error) error {
	f := &Fault{Offset: r.offset, Events: r.events, Why: err.Error()}
	var read *os.PathError
	switch {
	case r.source.follow != nil && r.source.follow.Err() != nil:
		return r.source.follow.Err()
	case errors.As(err, &read):
		return fmt.Errorf("read trace: %w", err)
	case errors.Is(err, io.EOF):
		f.Unfinished, f.Why = true, "there is no end mark; its writer was killed, or still writes"
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.Why = "it is cut short"
	}
	return f
}

// counter counts bytes.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
	return n, err
}

// source is the file. If it is followed, it waits for more at the end.
type source struct {
	in     io.Reader
	follow context.Context
}

// pollEvery is how often a followed file is read for more. Not all file systems report when a file grows.
const pollEvery = 200 * time.Millisecond

func (s *source) Read(b []byte) (int, error) {
	for {
		n, err := s.in.Read(b)
		if n > 0 || !errors.Is(err, io.EOF) || s.follow == nil {
			return n, err
		}
		select {
		case <-s.follow.Done():
			return 0, s.follow.Err()
		case <-time.After(pollEvery):
		}
	}
}
