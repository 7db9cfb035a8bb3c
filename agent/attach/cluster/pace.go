package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/podstep/podstep/agent/kubeapi"
)

// These bound the wait before the next try. It gets longer with each failure, and is long where only a person can
// help.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second

	firstRefusedWait   = time.Minute
	longestRefusedWait = 10 * time.Minute
)

// pace decides how long to wait between two tries. An API server may have thousands of clients: none may ask it
// without pause, nor all at once.
type pace struct {
	wait   time.Duration                       // about the wait before the last try
	random func(n time.Duration) time.Duration // in [0, n)
}

func newPace() pace { return pace{random: rand.N[time.Duration]} }

// after returns how long to wait after a try that lasted that long and ended with err, which is nil for a watch that
// the server ended. A watch that lasted long goes on at once. One that ended early counts as a failure.
func (p *pace) after(lasted time.Duration, err error) time.Duration {
	if lasted >= longestWait {
		p.wait = 0
		if err == nil {
			return 0
		}
	}
	first, longest := firstWait, longestWait
	if refused(err) {
		first, longest = firstRefusedWait, longestRefusedWait
	}
	p.wait = min(max(2*p.wait, first), longest)
	return retryAfter(err) + p.wait/2 + p.random(p.wait)
}

// refused reports whether the server does not let podstep do it, so that trying again soon is of no use.
func refused(err error) bool {
	return kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized)
}

// retryAfter returns how long the server asks to wait.
func retryAfter(err error) time.Duration {
	if s, ok := errors.AsType[*kubeapi.StatusError](err); ok {
		return s.RetryAfter
	}
	return 0
}

// clock is the time. Tests have their own.
type clock struct {
	now func() time.Time
	// after is time.After.
	after func(time.Duration) <-chan time.Time
}

func newClock() clock { return clock{time.Now, time.After} }

// sleep waits, or returns when ctx ends.
func (c clock) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-c.after(d):
	}
}
