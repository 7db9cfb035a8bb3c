package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// A block is written when it has so many events or bytes, or when so long has passed since its first event.
const (
	blockEvents = 1 << 13
	blockBytes  = 1 << 20
	blockTime   = time.Second
)

// maxEvent bounds one event, in bytes. Events of the agent are far smaller.
const maxEvent = maxPlain / 4

// Writer writes a trace. It keeps less than a block in memory. Several
// goroutines may use it.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	packer  *packer
	encoder encoder
	payload []byte
	late    *time.Timer
	wait    time.Duration // from a block's first event until it is written

	flags   byte // of the block that is being filled
	pending uint32
	pods    int
	bytes   int

	err    error // the first error of writing; after it nothing more is written
	closed bool
	size   int64
	events uint64
}

// Create begins a trace in a file that only its owner can read. It replaces a trace that is there already. It leaves
// any other file alone, and returns an error.
func Create(path string, h *Header) (*Writer, error) {
	if err := makeRoom(path); err != nil {
		return nil, fmt.Errorf("write trace %s: %w", path, err)
	}
	// O_EXCL: a link that somebody put there meanwhile is not followed.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write trace: %w", err)
	}
	w, err := NewWriter(f, h)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write trace %s: %w", path, err)
	}
	return w, nil
}

// makeRoom removes an older trace.
func makeRoom(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("what is there already is not a file; name another file")
	}
	if info.Size() > 0 {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = readVersion(f)
		f.Close()
		if errors.Is(err, ErrNoTrace) {
			return errors.New("the file that is there already is not a trace; name another file, or delete it")
		}
	}
	return os.Remove(path)
}

// NewWriter begins a trace. If out is an io.Closer, Close closes it.
func NewWriter(out io.Writer, h *Header) (*Writer, error) {
	p, err := newPacker()
	if err != nil {
		return nil, err
	}
	w := &Writer{out: out, packer: p, encoder: encoder{model: newModel()}, flags: freshFlag, wait: blockTime}
	w.late = time.AfterFunc(time.Hour, w.flushLate)
	w.late.Stop()
	head, err := h.pack(p)
	if err != nil {
		return nil, err
	}
	w.write(head)
	return w, w.err
}

// Wait sets how long an event waits at most until it is written; without it that is a second. The longer, the smaller
// the file.
func (w *Writer) Wait(most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait = most
}

// Add writes a batch, or keeps it for a moment. An error may be of this batch or of an earlier one. After it, the trace
// ends with the events that could be written.
func (w *Writer) Add(b *agentpb.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	if b.CaughtUp {
		w.flush()
		w.flags |= caughtUpFlag
	}
	if err := w.addPods(b.Pods); err != nil {
		return err
	}
	for _, raw := range b.Events {
		if len(raw) > maxEvent {
			return fmt.Errorf("write trace: an event of %d bytes is too large", len(raw))
		}
		if w.pending == blockEvents || w.bytes+len(raw) > blockBytes {
			w.flush()
		}
		w.encoder.add(raw)
		w.pending++
		w.bytes += len(raw)
	}
	if !w.empty() {
		w.late.Reset(w.wait)
	}
	return w.err
}

// addPods adds pods to the block. When the block has as many as it may, it begins another one. The caller holds mu.
func (w *Writer) addPods(pods []*agentpb.Pod) error {
	for _, p := range pods {
		if n := max(len(p.Namespace), len(p.Name), len(p.Uid)); n > maxPodText {
			return fmt.Errorf("write trace: a pod's name of %d bytes is too large", n)
		}
		if w.pods == maxPods {
			w.flush()
		}
		w.encoder.addPod(p)
		w.pods++
	}
	return nil
}

// Flush writes what is kept.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

// Close writes what is kept and the end mark, and closes the file. It returns the first error of writing.
func (w *Writer) Close() error { return w.CloseWith(nil) }

// CloseWith is Close for a trace with a footer, which ReadFooter finds without reading the trace. A nil footer is none.
func (w *Writer) CloseWith(footer []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	w.late.Stop()
	w.flush()
	var place []byte
	if footer != nil {
		place = binary.LittleEndian.AppendUint64(nil, uint64(w.size))
		w.write(w.packer.pack(block{kind: footerBlock}, footer))
	}
	w.write(w.packer.pack(block{kind: endBlock}, place))
	if f, ok := w.out.(interface{ Sync() error }); ok && w.err == nil {
		// Pipes and the like cannot be synced, and need not be.
		_ = f.Sync()
	}
	if c, ok := w.out.(io.Closer); ok {
		if err := c.Close(); err != nil && w.err == nil {
			w.err = fmt.Errorf("write trace: %w", err)
		}
	}
	return w.err
}

// Abandon ends the trace as it is, after an error: without what is kept and the end mark. It leaves the file open.
func (w *Writer) Abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.late.Stop()
	w.pending, w.pods, w.flags = 0, 0, 0
}

// Events returns how many events have been written.
func (w *Writer) Events() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events
}

// Size returns how many bytes have been written.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

func (w *Writer) empty() bool { return w.pending == 0 && w.pods == 0 && w.flags&caughtUpFlag == 0 }

func (w *Writer) flushLate() { _ = w.Flush() } // the error stays for the next Add

// flush writes the block that is being filled. The caller holds mu.
func (w *Writer) flush() {
	w.late.Stop()
	if w.empty() {
		return
	}
	w.payload = w.encoder.append(w.payload[:0])
	if w.write(w.packer.pack(block{kind: eventsBlock, flags: w.flags, events: w.pending}, w.payload)) {
		w.events += uint64(w.pending)
	}
	w.flags, w.pending, w.pods, w.bytes = 0, 0, 0, 0
	if w.encoder.model.full() {
		w.encoder.model = newModel()
		w.flags = freshFlag
	}
}

// write writes a block. If that fails, it takes back the half that was written, if the file can be cut.
func (w *Writer) write(b []byte) bool {
	if w.err != nil {
		return false
	}
	if _, err := w.out.Write(b); err != nil {
		w.err = fmt.Errorf("write trace after %d events: %w", w.events, err)
		if f, ok := w.out.(interface{ Truncate(int64) error }); ok {
			// If half a block stays, a reader finds out.
			_ = f.Truncate(w.size)
		}
		return false
	}
	w.size += int64(len(b))
	return true
}
