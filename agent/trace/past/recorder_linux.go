package past

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

const (
	segmentTime = 10 * time.Minute
	segmentSize = 4 << 20
	// carriedSize bounds the stories with which a segment begins, in bytes before they are compressed.
	carriedSize = 2 << 20
	// syncEvery is how often what was written is brought to the disk: a power cut costs at most so much.
	syncEvery = 5 * time.Second
	// writeEvery is how long an event waits for others, with which it takes less room. If podstep is killed, so much is
	// lost.
	writeEvery = 2 * time.Second
	tick       = time.Second
	// After an error podstep waits before it tries again, each time twice as long.
	firstPause = time.Second
	mostPause  = time.Minute
	// A disk that does not answer holds up neither the start nor the end of podstep for longer.
	startWait = 5 * time.Second
	stopWait  = 3 * time.Second
)

// Tap gives the events of an agent; agent.Tap and journal.Watcher have what each method does.
type Tap interface {
	Info() *agentpb.InfoResponse
	Began() uint64
	Carried() *agentpb.Batch
	Next(ctx context.Context) (*agentpb.Batch, error)
	Rest(until uint64) *agentpb.Batch
	Close()
}

// Options say where to record, and how much is kept.
type Options struct {
	// Dir is the directory; it is made if it is not there.
	Dir string
	// Keep bounds what all files in it take, in bytes, at least MinKeep. KeepFor is how long a segment is kept at most;
	// zero: as long as there is room.
	Keep    int64
	KeepFor time.Duration
	// Podstep is the version of this program.
	Podstep string
	// Tap begins to take events from the agent, with stories of at most that many bytes.
	Tap func(carried int) (Tap, error)
	// Print is called with each line that a person may want to read.
	Print func(line string)

	segmentTime time.Duration // 0: segmentTime
	pause       time.Duration // 0: firstPause
	disk        disk          // nil: the machine's
}

// disk makes files. Tests have disks that are full, or hang.
type disk interface {
	create(path string) (diskFile, error)
}

// diskFile is a file that is being written.
type diskFile interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Stats are what a Recorder has done.
type Stats struct {
	Dir string
	// Bytes is what the directory takes, of at most Limit.
	Bytes, Limit int64
	// Events were written, Dropped were not.
	Events, Dropped uint64
	// Failing says why nothing can be written now; "": it can be.
	Failing string
}

// Recorder writes what an agent sees to a directory.
type Recorder struct {
	o       Options
	run     string
	cancel  context.CancelFunc
	begun   chan struct{} // is closed after the first try to begin
	done    chan struct{}
	printed chan struct{} // is closed after the last line
	lines   chan string   // for Print: a person who reads slowly holds up nothing

	bytes           atomic.Int64
	events, dropped atomic.Uint64
	last, behind    atomic.Uint64 // the last event that was written; the last that there was at the last try

	mu      sync.Mutex
	failing error
	fatal   error // at the first try
}

// LockedError is the error for a directory in which another podstep records.
type LockedError struct{ Dir, By string }

func (e *LockedError) Error() string {
	by := ""
	if e.By != "" {
		by = " (pid " + e.By + ")"
	}
	return fmt.Sprintf("another podstep%s records to %s; give each its own --record-dir", by, e.Dir)
}

// DirError is the error for a directory that cannot be a record directory.
type DirError struct{ Dir, Why string }

func (e *DirError) Error() string { return fmt.Sprintf("record to %s: %s", e.Dir, e.Why) }

// Start begins to record. It refuses a directory that another podstep records to, and what is no directory for it.
// Any other error may pass: the recorder prints it, and tries again for as long as it lives.
func Start(o Options) (*Recorder, error) {
	if o.Keep < MinKeep {
		return nil, &DirError{o.Dir, fmt.Sprintf("%d bytes are too few to keep; the least is 1MiB", o.Keep)}
	}
	if o.disk == nil {
		o.disk = machine{}
	}
	if o.segmentTime == 0 {
		o.segmentTime = segmentTime
	}
	if o.pause == 0 {
		o.pause = firstPause
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{o: o, run: newRun(), cancel: cancel, begun: make(chan struct{}), done: make(chan struct{}), printed: make(chan struct{}), lines: make(chan string, 16)}
	go r.printAll()
	go r.work(ctx)
	select {
	case <-r.begun:
	case <-time.After(startWait):
		r.report("%s does not answer; podstep goes on without it, and records when it does", o.Dir)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal != nil {
		cancel()
		return nil, r.fatal
	}
	return r, nil
}

// newRun returns a name for the run of an agent.
func newRun() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Stop ends the recording, and returns when all is on the disk. It does not wait long for a disk that does not answer.
func (r *Recorder) Stop(ctx context.Context) error {
	r.cancel()
	select {
	case <-r.printed:
		return nil
	case <-time.After(stopWait):
	case <-ctx.Done():
	}
	return fmt.Errorf("%s does not answer: the last events were not recorded", r.o.Dir)
}

// Stats returns what was done so far. It never waits.
func (r *Recorder) Stats() Stats {
	s := Stats{Dir: r.o.Dir, Bytes: r.bytes.Load(), Limit: r.o.Keep, Events: r.events.Load(), Dropped: r.dropped.Load()}
	if last, behind := r.last.Load(), r.behind.Load(); behind > last {
		s.Dropped += behind - last
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing != nil {
		s.Failing = r.failing.Error()
	}
	return s
}

// report prints a line, or drops it if nobody reads them.
func (r *Recorder) report(format string, args ...any) {
	select {
	case r.lines <- fmt.Sprintf(format, args...):
	default:
	}
}

// printAll prints the lines until nothing more comes.
func (r *Recorder) printAll() {
	defer close(r.printed)
	for {
		select {
		case line := <-r.lines:
			r.o.Print(line)
		case <-r.done:
			for len(r.lines) > 0 {
				r.o.Print(<-r.lines)
			}
			return
		}
	}
}

// work records until ctx ends. After an error it tries again.
func (r *Recorder) work(ctx context.Context) {
	defer close(r.done)
	for pause, first := r.o.pause, true; ; first = false {
		err := r.record(ctx, func() {
			pause = r.o.pause
			r.works(first)
			first = false
		})
		if ctx.Err() != nil {
			return
		}
		r.fails(err, first)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// works notes that a segment could be begun.
func (r *Recorder) works(first bool) {
	r.mu.Lock()
	failed := r.failing
	r.failing = nil
	r.mu.Unlock()
	if failed != nil {
		r.report("podstep records to %s again; %d events were lost", r.o.Dir, r.Stats().Dropped)
	}
	if first {
		close(r.begun)
	}
}

// fails notes an error of the disk.
func (r *Recorder) fails(err error, first bool) {
	r.mu.Lock()
	again := r.failing != nil
	r.failing = err
	var locked *LockedError
	var dir *DirError
	if first && (errors.As(err, &locked) || errors.As(err, &dir)) {
		r.fatal = err
	}
	fatal := r.fatal
	r.mu.Unlock()
	if !again && fatal == nil {
		r.report("podstep cannot record, and tries again: %v", err)
	}
	if first {
		close(r.begun)
	}
}

// record writes one segment after the other. It returns when ctx ends, or with an error of the disk. begun is called
// when a segment was begun.
func (r *Recorder) record(ctx context.Context, begun func()) error {
	carried := int(min(carriedSize, r.o.Keep/2))
	tap, err := r.o.Tap(carried)
	if err != nil {
		return err
	}
	defer func() { tap.Close() }()
	r.behind.Store(tap.Began())
	d, err := openDir(r.o.Dir, r.o.Keep, &r.bytes)
	if err != nil {
		return err
	}
	defer d.close()
	for {
		s, err := r.begin(d, tap)
		if err != nil {
			return err
		}
		begun()
		ended, err := s.fill(ctx, tap)
		if err != nil {
			return errors.Join(err, s.abandon())
		}
		until := ^uint64(0)
		next := tap
		if !ended {
			if next, err = r.o.Tap(carried); err != nil {
				return errors.Join(err, s.abandon())
			}
			until = next.Began()
		}
		err = s.end(tap.Rest(until))
		tap = next
		if err != nil || ended {
			return err
		}
	}
}
