package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/podstep/podstep/agent/kubeapi"
)

// How long is waited before the next try: longer after each that failed, and
// long where only a person can help.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second

	firstRefusedWait   = time.Minute
	longestRefusedWait = 10 * time.Minute
)

// pace decides how long to wait between two tries. The API server may have thousands
// that ask it: none may ask it without end, and not all at once.
type pace struct {
	wait   time.Duration                       // before the last try, about
	random func(n time.Duration) time.Duration // from 0 until n
}

func newPace() pace { return pace{random: rand.N[time.Duration]} }

// after is how long to wait after a try that lasted that long and ended with err, which
// is nil for a watch that the server ended. A watch that ends in its time goes on at
// once; a server that ends each watch as it begins is one that fails.
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

// refused reports whether trying again soon is of no use.
func refused(err error) bool {
	return kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized)
}

// retryAfter is how long the server asks to wait.
func retryAfter(err error) time.Duration {
	if s, ok := errors.AsType[*kubeapi.StatusError](err); ok {
		return s.RetryAfter
	}
	return 0
}

// clock is the time, for tests too.
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
