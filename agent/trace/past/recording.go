package past

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Recording is what was chosen of a record directory, as one story. It is a trace.Recording.
type Recording struct {
	from   Store
	choice Choice
	runs   []*runOf
	has    []Span
	notes  []string

	headers []*trace.Header // of the runs, with numbers that count for all of them
	tables  []tables        // of the runs
	at      int             // the run that is being read
	next    int             // its segment to open next
	in      trace.Recording
	part    *part // that in reads
	merge   merge
	queue   []*agentpb.Batch
	given   int // the run of the batch that Next returned last
}

// readHeaders reads the header of each run, and makes one table of their steps, goroutines and probes.
func (r *Recording) readHeaders() error {
	var m tableMaker
	for i := 0; i < len(r.runs); i++ {
		h, err := r.headerOf(r.runs[i])
		if err != nil {
			return err
		}
		t, info := m.add(h.Info)
		r.tables = append(r.tables, t)
		copied := *h
		copied.Info, copied.Selection = info, r.choice.selection()
		r.headers = append(r.headers, &copied)
	}
	if !r.choice.Since.IsZero() && r.choice.Since.After(r.headers[0].Began) {
		r.headers[0].Began = r.choice.Since
	}
	for _, h := range r.headers {
		m.complete(h.Info)
	}
	r.merge.init(&r.choice)
	return nil
}

func (r *Recording) headerOf(run *runOf) (*trace.Header, error) {
	for _, p := range run.parts {
		if p.skip {
			continue
		}
		in, err := r.from.open(p)
		if errors.Is(err, os.ErrNotExist) {
			p.skip = true // it was deleted meanwhile, and the next one carries on
			continue
		}
		if err != nil {
			return nil, err
		}
		h := in.Header()
		return h, in.Close()
	}
	return nil, fmt.Errorf("all that was to be read was deleted meanwhile: podstep keeps no more; ask again")
}

// Header returns what the recording is about: of several agents, that of the events that Next has returned last. The
// numbers of steps, goroutines, probes, pods and calls mean the same in all.
func (r *Recording) Header() *trace.Header { return r.headers[r.given] }

// Notes returns what a reader should know of what was read so far: segments that are damaged, times without a record.
func (r *Recording) Notes() []string { return r.notes }

// Has returns the times for which something was recorded, each of one run of an agent.
func (r *Recording) Has() []Span { return r.has }

// Last returns which agent recorded last of what was read so far, and that agent's number of the last event.
func (r *Recording) Last() (agent *agentpb.InfoResponse, seq uint64) {
	return r.headers[r.given].Info, r.merge.last
}

// slack is for how long after its last event a run counts as recorded: podstep may have been killed before it wrote.
const slack = 5 * time.Second

// Recorded reports whether an agent recorded at a time. If none did, it returns when one recorded last before.
func (r *Recording) Recorded(at time.Time) (last time.Time, is bool) {
	for _, s := range r.has {
		if !at.Before(s.From) && !at.After(s.To.Add(slack)) {
			return at, true
		}
		if s.To.Before(at) {
			last = s.To
		}
	}
	return last, false
}

// Close closes the file that is being read.
func (r *Recording) Close() error {
	if r.in == nil {
		return nil
	}
	err := r.in.Close()
	r.in = nil
	return err
}

// Next returns the next events; after the last, io.EOF.
func (r *Recording) Next() (*agentpb.Batch, error) {
	for {
		if len(r.queue) > 0 {
			b := r.queue[0]
			r.queue = r.queue[1:]
			return b, nil
		}
		if r.in == nil {
			if err := r.openNext(); err != nil {
				return nil, err
			}
		}
		b, err := r.in.Next()
		if err != nil {
			if err := r.endSegment(err); err != nil {
				return nil, err
			}
			continue
		}
		r.push(r.merge.add(b))
	}
}

func (r *Recording) push(b *agentpb.Batch) {
	if len(b.GetEvents())+len(b.GetPods()) > 0 {
		r.queue = append(r.queue, b)
	}
}

// endSegment ends the reading of a segment with the error of its reader.
func (r *Recording) endSegment(err error) error {
	var fault *trace.Fault
	switch {
	case errors.Is(err, io.EOF):
	case !errors.As(err, &fault):
		return err
	case fault.Unfinished, r.isLast() && r.part.torn:
		// Its writer was killed, or still writes. If there is more, the story says what is missing.
	default:
		r.notes = append(r.notes, fmt.Sprintf("%s: %v", r.part.name, fault))
	}
	r.merge.endSegment()
	return r.Close()
}

// isLast reports whether the segment is the last of all: podstep may still write it.
func (r *Recording) isLast() bool {
	return r.at == len(r.runs)-1 && r.next == len(r.runs[r.at].parts)
}

// openNext opens the next segment; io.EOF: there is none.
func (r *Recording) openNext() error {
	for ; r.at < len(r.runs); r.at, r.next = r.at+1, 0 {
		run := r.runs[r.at]
		for r.next < len(run.parts) {
			p := run.parts[r.next]
			r.next++
			if p.skip {
				r.merge.skip(p)
				continue
			}
			in, err := r.from.open(p)
			if errors.Is(err, os.ErrNotExist) {
				r.notes = append(r.notes, fmt.Sprintf("%s was deleted meanwhile: podstep keeps no more", p.name))
				continue
			}
			if err != nil {
				return err
			}
			r.in, r.part = in, p
			r.begin(p)
			return nil
		}
	}
	return io.EOF
}

// begin begins the segment that was opened. What ends with the run before it is a batch of its own, even if it is
// empty: readers that tell runs apart by Header see it first.
func (r *Recording) begin(p *part) {
	switch {
	case !r.merge.begun:
		r.given = r.at
		r.merge.beginRun(p, &r.tables[r.at])
	case r.given != r.at:
		r.given = r.at
		r.queue = append(r.queue, r.merge.beginRun(p, &r.tables[r.at]))
	default:
		r.merge.beginSegment(p)
	}
}
