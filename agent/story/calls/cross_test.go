package calls_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// both are a recording's calls as a stream has them, by their numbers.
type both struct {
	byStream map[uint64]*calls.Call
}

func (b *both) Began(*calls.Call) {}

func (b *both) Ended(c *calls.Call) error {
	if c.Span != 0 {
		b.byStream[c.Span] = c
	}
	return nil
}

func (b *both) Held(*calls.Call, *calls.Hold) error { return nil }
func (b *both) Marked(*probes.Event) error          { return nil }

// TestStreamIsHistory: exports and the screen read the same calls out of the same events: both ends, the call around each,
// its failure and for how long people held it.
func TestStreamIsHistory(t *testing.T) {
	files, err := filepath.Glob("../../../*/*/testdata/*.podstep")
	if err != nil || len(files) < 5 {
		t.Fatalf("the recordings are %v: %v", files, err)
	}
	compared := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			info, batches, err := tracetest.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			catalogue := probes.MustLoad()
			h := history.New(info, catalogue)
			b := &both{map[uint64]*calls.Call{}}
			stream, decode := calls.New(b, catalogue), wire.NewDecoder(info)
			for _, batch := range batches {
				h.Add(batch, nil)
				for _, e := range decode.Batch(batch) {
					if err := stream.Add(&e); err != nil {
						t.Fatal(err)
					}
				}
			}
			for number, c := range b.byStream {
				if got, want := inStream(c), inHistory(h, number); got != want {
					t.Errorf("%s, call %d:\nthe stream has  %s\nthe history has %s", c.Step, number, got, want)
				}
				compared++
			}
		})
	}
	t.Logf("%d calls compared", compared)
}

// inStream and inHistory write down a call that has ended.
func inStream(c *calls.Call) string {
	up := uint64(0)
	switch {
	case c.Up != nil:
		up = c.Up.Span
	case c.Caller != nil: // which did not wait for it
		up = c.Caller.Span
	}
	return fmt.Sprintf("from %d, took %v, in %d, failed %v, begin unseen %v, end unseen %v", c.BeginMono, c.Took()-c.Held, up, c.Error != "", c.NoEnter, c.NoExit)
}

func inHistory(h *history.History, number uint64) string {
	ref := h.FindSpan(number)
	c := h.Call(ref, h.End())
	if c.Span == nil {
		return "nothing"
	}
	up := uint64(0)
	if s := h.Span(c.Parent); s != nil {
		up = s.ID
	}
	return fmt.Sprintf("from %d, took %v, in %d, failed %v, begin unseen %v, end unseen %v", c.Start, c.Took(c.End), up, c.Failed, c.Shape == history.NoEnter, c.Shape == history.NoExit)
}
