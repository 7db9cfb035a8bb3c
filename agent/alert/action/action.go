// Package action does something about the matches of alerts: it runs a program, or posts to a webhook. An action that
// fails, hangs or is slow is reported, and holds nothing up.
package action

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Action does something about a match.
type Action interface {
	// String names the action in messages.
	String() string
	// Do does it, and returns why it failed. It ends soon after ctx does.
	Do(ctx context.Context, m *alert.Match) error
}

// mostWaiting is how many matches wait for an action at most.
const mostWaiting = 64

// Queue gives matches to an action, one after the other.
type Queue struct {
	action Action
	o      Options
	in     chan *alert.Match
	done   chan struct{}
	cancel context.CancelFunc

	mu              sync.Mutex
	failed, dropped int
}

// Options are how a queue gives out its matches.
type Options struct {
	// Pause is the least time between the beginnings of two actions.
	Pause time.Duration
	// After is time.After, or the clock of a test.
	After func(time.Duration) <-chan time.Time
	// Report takes each failure. It may be called on any goroutine.
	Report func(error)
}

// NewQueue begins to do an action. The caller must call End.
func NewQueue(a Action, o Options) *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	q := &Queue{action: a, o: o, in: make(chan *alert.Match, mostWaiting), done: make(chan struct{}), cancel: cancel}
	go q.work(ctx)
	return q
}

// Add takes a match. It never waits: if too many wait, it drops the match, counts it, and reports the first one of a row.
func (q *Queue) Add(m *alert.Match) {
	select {
	case q.in <- m:
	default:
		q.mu.Lock()
		q.dropped++
		first := q.dropped == 1
		q.mu.Unlock()
		if first {
			q.o.Report(fmt.Errorf("%s: %d matches wait for it already, and further ones are dropped", q.action, mostWaiting))
		}
	}
}

// End waits until the action is done for the matches that wait, or until ctx ends; then it ends the action. It returns an
// error if the action failed for some match.
func (q *Queue) End(ctx context.Context) error {
	close(q.in)
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel()
		<-q.done
	}
	q.cancel()
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.dropped > 0:
		return fmt.Errorf("%s: failed for %d matches, and was not done for %d", q.action, q.failed, q.dropped)
	case q.failed > 0:
		return fmt.Errorf("%s: failed for %d matches", q.action, q.failed)
	}
	return nil
}

func (q *Queue) work(ctx context.Context) {
	defer close(q.done)
	var pause <-chan time.Time
	for m := range q.in {
		if pause != nil {
			select {
			case <-pause:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			q.mu.Lock()
			q.dropped++
			q.mu.Unlock()
			continue
		}
		if q.o.Pause > 0 {
			pause = q.o.After(q.o.Pause)
		}
		if err := q.action.Do(ctx, m); err != nil {
			q.mu.Lock()
			q.failed++
			q.mu.Unlock()
			q.o.Report(fmt.Errorf("%s: %w", q.action, err))
		}
	}
}

// mostBytes bounds a match for an action. Only the fields of events can be large; they are left out then.
const mostBytes = 256 << 10

// encode returns a match as one line of JSON.
func encode(m *alert.Match) ([]byte, error) {
	text, err := words.JSON(m, "")
	if err != nil || len(text) <= mostBytes {
		return text, err
	}
	short := *m
	short.Parts = append([]alert.Part(nil), m.Parts...)
	for i := range short.Parts {
		if e := short.Parts[i].Event; e != nil {
			short.Parts[i].Event = withoutFields(e)
		}
	}
	return words.JSON(&short, "")
}

func withoutFields(e *probes.Event) *probes.Event {
	short := *e
	short.Fields = nil
	return &short
}
