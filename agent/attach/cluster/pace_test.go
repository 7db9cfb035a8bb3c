package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes"
)

// TestPace: each failed try makes the next wait longer, up to a bound; a part of each wait is random.
func TestPace(t *testing.T) {
	failure, refusal := errors.New("connection refused"), error(&kubeapi.StatusError{Code: http.StatusForbidden})
	busy := error(&kubeapi.StatusError{Code: http.StatusTooManyRequests, RetryAfter: 7 * time.Second})
	type try struct {
		lasted time.Duration
		err    error
		want   time.Duration // without chance
	}
	for name, tries := range map[string][]try{
		"failures": {
			{0, failure, 500 * time.Millisecond}, {0, failure, time.Second}, {0, failure, 2 * time.Second}, {0, failure, 4 * time.Second},
			{0, failure, 8 * time.Second}, {0, failure, 15 * time.Second}, {0, failure, 15 * time.Second},
		},
		"a watch that worked for long": {
			{0, failure, 500 * time.Millisecond}, {0, failure, time.Second}, {time.Hour, failure, 500 * time.Millisecond},
			{time.Hour, nil, 0}, {0, failure, 500 * time.Millisecond},
		},
		"watches that end at once":   {{0, nil, 500 * time.Millisecond}, {0, nil, time.Second}, {0, nil, 2 * time.Second}},
		"refusals":                   {{0, refusal, 30 * time.Second}, {0, refusal, time.Minute}, {0, refusal, 2 * time.Minute}, {0, refusal, 4 * time.Minute}, {0, refusal, 5 * time.Minute}},
		"after a refusal a failure":  {{0, refusal, 30 * time.Second}, {0, failure, 15 * time.Second}},
		"a server that asks to wait": {{0, busy, 7500 * time.Millisecond}, {0, busy, 8 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			least := pace{random: func(time.Duration) time.Duration { return 0 }}
			most := pace{random: func(n time.Duration) time.Duration { return n }}
			for i, try := range tries {
				if got := least.after(try.lasted, try.err); got != try.want {
					t.Errorf("after try %d it waits at least %v, want %v", i, got, try.want)
				}
				fixed := retryAfter(try.err)
				if got, want := most.after(try.lasted, try.err), fixed+3*(try.want-fixed); got != want {
					t.Errorf("after try %d it waits at most %v, want %v", i, got, want)
				}
			}
		})
	}
}

// madeClock is a clock whose sleeps take no time. After a number of sleeps it ends the follower.
type madeClock struct {
	time   time.Time
	sleeps []time.Duration
	most   int
	end    context.CancelFunc
}

func (c *madeClock) clock() clock {
	return clock{func() time.Time { return c.time }, func(d time.Duration) <-chan time.Time {
		c.sleeps = append(c.sleeps, d)
		if len(c.sleeps) >= c.most {
			c.end()
		}
		over := make(chan time.Time)
		close(over)
		return over
	}}
}

// followPods runs one follower of pods with a made clock, until it has slept that often.
func followPods(t *testing.T, f *fakeAPI, sleeps int) *madeClock {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	made := &madeClock{time: noon, most: sleeps, end: end}
	o := Options{Node: "node-1", Report: func(Report) {}, Note: func(string, error) {}, State: func(probes.Witness, error) {}}
	api, err := kubeapi.New(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{o: o, ledger: newLedger(o), api: api, clock: made.clock()}
	w := newPodWatch(c, func(*v1.Pod, source, bool) {}, func() {})
	w.pace.random = func(time.Duration) time.Duration { return 0 }
	w.run(ctx)
	return made
}

// TestGoneAgainAndAgain: a server that forgets each version at once is not asked without pause.
func TestGoneAgainAndAgain(t *testing.T) {
	f := newFakeAPI(t)
	f.forgetful = true
	f.put(podsPath, "ADDED", namedPod("a"))
	made := followPods(t, f, 5)
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	if !slices.Equal(made.sleeps, want) {
		t.Errorf("it slept %v, want %v", made.sleeps, want)
	}
	if n := len(f.RequestsFor(podsPath)); n != 2*len(want) {
		t.Errorf("%d requests, want a list and a watch for each of %d tries", n, len(want))
	}
}

// TestVersionUnknown: if a server does not know the version from which it is to list, such as after its storage was
// restored, it is asked for the newest.
func TestVersionUnknown(t *testing.T) {
	tooLarge := []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	for _, answer := range []kubeapi.StatusError{
		{Code: http.StatusGone, Message: "The provided resource version is too old"},
		{Code: http.StatusGatewayTimeout, Message: "Timeout: Too large resource version: 7, current: 3", Causes: tooLarge},
	} {
		f := newFakeAPI(t)
		f.forgetful = true
		f.refuseList = func(version string) *kubeapi.StatusError {
			if version == "0" || version == "" {
				return nil
			}
			return &answer
		}
		followPods(t, f, 3)
		var versions []string
		for _, a := range f.RequestsFor(podsPath) {
			if !a.Watch() {
				versions = append(versions, a.Query.Get("resourceVersion"))
			}
		}
		if want := []string{"0", "100", ""}; !slices.Equal(versions, want) {
			t.Errorf("%s: listed from %q, want %q", answer.Message, versions, want)
		}
	}
}

// TestEndIsNoFailure: a follower whose context ends notes nothing.
func TestEndIsNoFailure(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	f := follower[v1.Pod]{
		clock: newClock(), pace: newPace(), done: func() {}, up: func(bool) {},
		list: func(context.Context, string) (string, error) {
			end()
			return "", ctx.Err()
		},
		notes: func(err error) { t.Errorf("noted: %v", err) },
	}
	f.run(ctx)
}
