// Package alerting runs podstep alert: it follows the events of an agent or a recording, and passes on the matches of
// an alert.
package alerting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/stream"
	"github.com/podstep/podstep/probes"
)

// Clock is the time, or that of a test.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// RealClock is the time.
func RealClock() Clock { return Clock{time.Now, time.After} }

// Live follows an agent.
type Live struct {
	Client    *client.Client
	Catalogue *probes.Catalogue
	Alert     *alert.Alert
	Pods      *agentpb.PodSelector
	Node      bool
	// Once ends it with the first match.
	Once bool
	// Match takes each match. Lost takes events which report that others were lost.
	Match func(*alert.Match) error
	Lost  func(*probes.Event)
	Clock Clock

	m       *alert.Matcher
	matched bool
	failed  error
	live    bool
	// session is the session time at a moment of the clock.
	session int64
	since   time.Time
}

// lag is how far the time that has passed for sure is behind the clock: the events of that time have come.
const lag = 250 * time.Millisecond

// errForOver ends an alert whose --for has run out.
var errForOver = errors.New("--for ran out")

// Run follows the agent until the end, and for at most most; 0: for ever. With Once it is an error if nothing matched.
func (l *Live) Run(ctx context.Context, most time.Duration) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var over <-chan time.Time
	if most > 0 {
		over = l.Clock.After(most)
	}
	err := l.follow(within, over)
	switch {
	case l.failed != nil:
		return l.failed
	case l.Once && l.matched:
		return nil
	case errors.Is(err, errForOver) && l.Once:
		return fmt.Errorf("nothing matched within %s; podstep pods shows what the pods do", most)
	case errors.Is(err, errForOver):
		return nil
	case ctx.Err() != nil && l.Once:
		return errors.New("interrupted before a match")
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("the agent ended the stream, and podstep sees no more; see podstep doctor")
	}
	return err
}

// Dropped returns how many calls and sequences were not followed.
func (l *Live) Dropped() uint64 {
	if l.m == nil {
		return 0
	}
	return l.m.Dropped()
}

func (l *Live) follow(ctx context.Context, over <-chan time.Time) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := l.Client.Watch(watching, &agentpb.WatchRequest{Pods: l.Pods, History: true, Node: l.Node})
	if err != nil {
		return err
	}
	l.m = alert.New(l.Alert, l.Client.About(), l.Catalogue, alert.Options{Pods: l.Pods, Node: l.Node, Match: l.take, Lost: l.Lost})
	l.m.Silent()
	arrivals := stream.Receive(watching, w.NextRaw)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return errForOver
		case a := <-arrivals:
			if a.Err != nil {
				return a.Err
			}
			if err := l.add(ctx, a.Item); err != nil {
				return err
			}
		case <-l.due():
		}
		if l.live {
			l.advance()
		}
		if l.failed != nil || l.Once && l.matched {
			return nil
		}
	}
}

// add takes a batch. The first one after what the agent remembers ends the silence.
func (l *Live) add(ctx context.Context, b *agentpb.Batch) error {
	if b.GetCaughtUp() && !l.live {
		listed, err := l.Client.Pods(ctx, &agentpb.PodsRequest{Pods: l.Pods})
		if err != nil {
			return err
		}
		l.m.Adopt(listed.GetPods())
		l.live = true
		l.advance()
		l.m.Live()
	}
	l.m.Add(b)
	return nil
}

// now returns the session time.
func (l *Live) now() (at int64, ok bool) {
	now := l.Clock.Now()
	at = l.session + int64(now.Sub(l.since))
	if !l.since.IsZero() && at >= l.m.Last() {
		return at, true
	}
	if at, ok = l.m.At(now); ok {
		l.session, l.since = at, now
	}
	return at, ok
}

// advance takes the matcher to the present time, as far as the events of that time have come.
func (l *Live) advance() {
	if at, ok := l.now(); ok {
		l.m.Advance(at - int64(lag))
	}
}

// due fires when something may match without an event.
func (l *Live) due() <-chan time.Time {
	if !l.live {
		return nil
	}
	next, ok := l.m.Next()
	if !ok {
		return nil
	}
	at, ok := l.now()
	if !ok {
		return nil
	}
	return l.Clock.After(time.Duration(max(0, next-at)) + lag)
}

func (l *Live) take(m *alert.Match) {
	if l.failed != nil || l.Once && l.matched {
		return
	}
	l.matched = true
	l.failed = l.Match(m)
}
