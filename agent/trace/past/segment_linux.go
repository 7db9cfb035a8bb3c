package past

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// segment is the file that is being written.
type segment struct {
	r       *Recorder
	d       *dir
	out     *bounded
	w       *trace.Writer
	index   *index
	began   time.Time
	carried int64 // size of what it began with
	most    int64 // size at which it ends
	plain   int   // bytes of events since the last flush
	synced  time.Time
	dirty   bool
}

// begin makes a segment, with what a tap begins with.
func (r *Recorder) begin(d *dir, tap Tap) (*segment, error) {
	now := time.Now()
	if err := d.tidy(now, r.o.KeepFor); err != nil {
		return nil, err
	}
	out, err := d.create(r.o.disk, now)
	if err != nil {
		return nil, err
	}
	info := tap.Info()
	boot, clock := bootClock()
	h := &trace.Header{Podstep: r.o.Podstep, Began: now, Selection: "all pods", Info: info, Segment: &trace.Segment{
		Run: r.run, Boot: boot, Clock: clock, Mono: int64(now.Sub(info.GetStarted().AsTime())), After: tap.Began(),
	}}
	s := &segment{r: r, d: d, out: out, index: newIndex(h), began: now, synced: now, most: min(segmentSize, r.o.Keep/8)}
	if s.w, err = trace.NewWriter(out, h); err != nil {
		return nil, errors.Join(err, out.Close(), out.removeIfEmpty(0))
	}
	s.w.Wait(writeEvery)
	for b := tap.Carried(); b != nil; b = tap.Carried() {
		s.index.add(b)
		if err := s.write(b); err != nil {
			return nil, errors.Join(err, s.abandon())
		}
	}
	if err := s.flush(); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.carried = s.w.Size()
	if last := r.last.Load(); last != 0 && tap.Began() > last {
		r.dropped.Add(tap.Began() - last)
	}
	r.last.Store(tap.Began())
	return s, nil
}

// fill writes events until the segment is full or ctx ends, which it reports.
func (s *segment) fill(ctx context.Context, tap Tap) (ended bool, err error) {
	for !s.isFull() {
		b, err := nextWithin(ctx, tap, tick)
		switch {
		case ctx.Err() != nil:
			return true, s.add(b)
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return false, err
		}
		if err := s.add(b); err != nil {
			return false, err
		}
		if err := s.sync(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// nextWithin waits for events, but not for ever.
func nextWithin(ctx context.Context, tap Tap, most time.Duration) (*agentpb.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return tap.Next(ctx)
}

// isFull reports whether the next segment is due. A segment without an event goes on.
func (s *segment) isFull() bool {
	return s.w.Size()-s.carried >= s.most*3/4 || s.index.Events > 0 && time.Since(s.began) >= s.r.o.segmentTime
}

// add writes live events.
func (s *segment) add(b *agentpb.Batch) error {
	if b == nil {
		return nil
	}
	before := s.index.Events
	missing := s.index.add(b)
	if err := s.write(b); err != nil {
		return err
	}
	s.r.dropped.Add(missing)
	s.r.events.Add(uint64(s.index.Events - before))
	s.r.last.Store(s.index.Seq)
	return nil
}

// write writes a batch, in blocks that are small beside the segment.
func (s *segment) write(b *agentpb.Batch) error {
	if err := s.w.Add(b); err != nil {
		return err
	}
	for _, raw := range b.GetEvents() {
		s.plain += len(raw)
	}
	s.dirty = s.dirty || len(b.GetEvents()) > 0
	if int64(s.plain) >= s.most/2 {
		return s.flush()
	}
	return nil
}

func (s *segment) flush() error {
	s.plain = 0
	return s.w.Flush()
}

// sync brings what was written to the disk, now and then, and finds out whether the file is still there.
func (s *segment) sync() error {
	if !s.dirty || time.Since(s.synced) < syncEvery {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.out.Sync(); err != nil {
		return fmt.Errorf("bring %s to the disk: %w", s.out.path, err)
	}
	s.synced, s.dirty = time.Now(), false
	return s.out.isThere()
}

// end closes the segment with its index, after the events that are left.
func (s *segment) end(rest *agentpb.Batch) error {
	if err := s.add(rest); err != nil {
		return errors.Join(err, s.abandon())
	}
	s.index.Ended = time.Now().UnixNano()
	text, err := s.index.encode()
	if err != nil {
		return errors.Join(err, s.abandon())
	}
	return s.w.CloseWith(text)
}

// abandon closes a segment after an error. What was written stays, if it has an event.
func (s *segment) abandon() error {
	s.w.Abandon()
	return errors.Join(s.out.Close(), s.out.removeIfEmpty(s.index.Events))
}
