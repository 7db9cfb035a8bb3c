//go:build node

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
)

const (
	// podsAtOnce is how many pods there are at any time, unless PODSTEP_SOAK_PODS says otherwise.
	podsAtOnce = 60
	// defaultLength is how long a run in CI lasts. `make test-long` lasts two hours.
	defaultLength = 10 * time.Minute
	// mostErrors bounds how many errors a run prints.
	mostErrors = 40
)

// soak is one run.
type soak struct {
	t      *testing.T
	l      *labtest.Lab
	ctx    context.Context
	seed   uint64
	length time.Duration
	begin  time.Time
	dir    string // where clients write trace files
	agent  *client.Client

	pods   *ledger
	seen   *observer
	sides  *coverage
	counts counts

	errors   atomic.Int32
	problems problems
}

// problems has the texts of all errors. They are printed once more at the very end: so much output follows the errors
// that CI does not show them.
type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, text)
}

// print prints the beginning of each text.
func (p *problems) print(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.list {
		line, _, _ := strings.Cut(text, "\n")
		t.Log(line[:min(len(line), 600)])
	}
}

// counts are the counts of the summary.
type counts struct {
	mu   sync.Mutex
	all  map[string]int
	list []string // the names, in the order in which they were first counted
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.all[what]; !ok {
		c.list = append(c.list, what)
	}
	if c.all == nil {
		c.all = map[string]int{}
	}
	c.all[what] += n
}

// errorf fails the test. Any goroutine may call it.
func (s *soak) errorf(format string, args ...any) {
	if n := s.errors.Add(1); n > mostErrors {
		return
	}
	text := fmt.Sprintf("%s after the start: %s", time.Since(s.begin).Round(time.Second), fmt.Sprintf(format, args...))
	s.problems.add(text)
	s.t.Error(text)
}

// random returns a source of choices for one actor. What an actor chooses depends on the seed alone; when it chooses
// does not.
func (s *soak) random(actor string, n int) *rand.Rand {
	h := uint64(n)
	for _, c := range actor {
		h = h*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(s.seed, h))
}

// TestSoak lasts PODSTEP_SOAK. PODSTEP_SOAK_SEED repeats the choices of a run, and PODSTEP_SOAK_REPORT names a file
// for its summary.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	t.Logf("PODSTEP_SOAK=%v PODSTEP_SOAK_SEED=%d", s.length, s.seed)
	health := labtest.WatchHealth(t, s.l)
	stopWatching := s.watch()

	warm := min(s.length/5, 2*time.Minute)
	s.phase("warm", warm)
	before := s.settle(nil)
	s.phase("soak", s.length-warm)
	after := s.settle(before)

	stopWatching()
	for _, text := range health.End(t) {
		s.problems.add(text)
	}
	s.conclude(before, after)
	s.report(before, after, health)
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, ctx: t.Context(), length: defaultLength, seed: rand.Uint64N(1 << 32), dir: t.TempDir()}
	var err error
	if v := os.Getenv("PODSTEP_SOAK"); v != "" {
		if s.length, err = time.ParseDuration(v); err != nil || s.length < time.Minute {
			t.Fatalf("PODSTEP_SOAK=%s is no duration of a minute or more", v)
		}
	}
	if v := os.Getenv("PODSTEP_SOAK_SEED"); v != "" {
		if s.seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("PODSTEP_SOAK_SEED=%s is no number", v)
		}
	}
	t.Cleanup(func() { s.problems.print(t) }) // after the lab's own cleanup, which prints its log
	s.l = labtest.Start(t)
	s.begin = time.Now()
	s.agent = s.l.Agent()
	s.sides = newCoverage(s.agent.About())
	s.pods = newLedger()
	s.seen = newObserver(s)
	s.vault()
	return s
}

// phase lets pods churn for a time. For three quarters of it, clients hold pods.
func (s *soak) phase(name string, length time.Duration) {
	// The observer must not disturb the measurement of the kubelet that follows.
	defer s.seen.follow()()
	over := make(chan struct{})
	var slots sync.WaitGroup
	for i := range labtest.Times(s.t, "PODSTEP_SOAK_PODS", podsAtOnce) {
		slots.Go(func() { s.slot(name, i, over) })
	}
	windows := max(1, int(length/(2*time.Minute)))
	each := length / time.Duration(windows)
	for n := range windows {
		s.clients(fmt.Sprintf("%s-looking-%d", name, n), lookers, each/4)
		s.clients(fmt.Sprintf("%s-holding-%d", name, n), holders, each*3/4)
	}
	close(over)
	slots.Wait()
	// A breakpoint of a client that was killed may have come late.
	s.removeBreakpoints()
	s.untilFree()
	s.untilSeen()
	s.t.Logf("%s: phase %s is over", time.Since(s.begin).Round(time.Second), name)
}

// sit lets real time pass: the test lasts as long as PODSTEP_SOAK says.
func (s *soak) sit(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// conclude checks what can be checked only at the end.
func (s *soak) conclude(before, after *baseline) {
	s.scanFiles(filepath.Join(s.dir, "*.podstep"))
	for key, h := range s.seen.standing {
		s.errorf("pod %s was held at %s of %s at %s, and nobody saw the end of it; events lost: %v",
			key.pod.Name, key.on, h.step, h.since.Format("15:04:05.000"), s.seen.drops)
	}
	for _, c := range after.compare(before) {
		s.errorf("%s", c)
	}
	if n := s.errors.Load(); n > mostErrors {
		s.t.Errorf("%d more things went wrong", n-mostErrors)
	}
}

// untilSeen waits until the observer has seen the end of every hold: events come later than what they report.
func (s *soak) untilSeen() {
	for end := time.Now().Add(slack); time.Now().Before(end); s.sit(time.Second / 10) {
		if s.pods.check(func() bool { return s.pods.standing == 0 }) {
			return
		}
	}
}

// untilFree waits until no hold is left. Each ends by itself: by its lease or budget, or because its client is gone.
func (s *soak) untilFree() {
	end := time.Now().Add(longestLease + slack)
	for {
		r, err := s.agent.ListHolds(s.ctx, &agentpb.ListHoldsRequest{})
		if err != nil {
			s.errorf("list holds: %v", err)
			return
		}
		if len(r.Holds) == 0 {
			return
		}
		if time.Now().After(end) {
			s.errorf("%d holds do not end by themselves, such as %v", len(r.Holds), r.Holds[0])
			_, _ = s.agent.Continue(s.ctx, &agentpb.ContinueRequest{All: true})
			return
		}
		s.sit(time.Second / 4)
	}
}
