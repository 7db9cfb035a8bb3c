//go:build node

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// longestLease is the longest lease of a hold that nobody ends. Holds of a client that lives may have longer ones.
const longestLease = 20 * time.Second

// actor is one kind of action of clients.
type actor struct {
	name   string
	number int // clients that do it at a time
	do     func(s *soak, ctx context.Context, r *rand.Rand)
}

// holders are the actions that hold pods, or belong to that.
var holders = []actor{
	{"hold", 3, (*soak).holdWhileRunning},
	{"stepper", 2, (*soak).stepAlong},
	{"breaker", 3, (*soak).breakSomewhere},
	{"looker", 2, (*soak).look},
	{"direct", 3, (*soak).direct},
	{"faults", 2, (*soak).injectFault},
	{"screen", 1, (*soak).screen},
	{"busy", 2, (*soak).keepBusy},
}

// lookers are actions that hold no pod. They keep the machine as busy as holders do.
var lookers = []actor{
	{"looker", 12, (*soak).look},
	{"busy", 2, (*soak).keepBusy},
}

// clients runs clients for a while. When they are gone, every hold ends by itself.
func (s *soak) clients(window string, actors []actor, length time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, length)
	defer cancel()
	var all sync.WaitGroup
	for _, a := range actors {
		for i := range a.number {
			r := s.random(a.name+window, i)
			all.Go(func() {
				for ctx.Err() == nil {
					a.do(s, ctx, r)
					s.wait(ctx, rand64(r, time.Second))
				}
			})
		}
	}
	all.Wait()
	s.removeBreakpoints()
	s.untilFree()
}

func (s *soak) wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// removeBreakpoints removes breakpoints whose clients did not live to do so. They would end by themselves within
// longestExpiry.
func (s *soak) removeBreakpoints() {
	r, err := s.agent.ListBreakpoints(s.ctx, &agentpb.ListBreakpointsRequest{})
	if err != nil {
		s.errorf("list breakpoints: %v", err)
		return
	}
	for _, b := range r.Breakpoints {
		if left := time.Until(b.Expires.AsTime()); left > longestExpiry || left < -slack {
			s.errorf("breakpoint %d ends in %v", b.Id, left)
		}
		_, _ = s.agent.RemoveBreakpoint(s.ctx, &agentpb.RemoveBreakpointRequest{Id: b.Id}) // it may have ended
	}
}

const longestExpiry = 45 * time.Second

// someLease returns a short lease, and now and then the longest.
func someLease(r *rand.Rand) time.Duration {
	if r.IntN(8) == 0 {
		return longestLease
	}
	return 100*time.Millisecond + rand64(r, 5*time.Second)
}

func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }

// stepAlong holds a pod and steps it from place to place.
func (s *soak) stepAlong(ctx context.Context, r *rand.Rand) {
	pod := "default/" + s.pods.random(r)
	c := s.start("hold", pod, "--lease", ms(someLease(r)), "--wait", "5s")
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	if c.kill(ctx) || !c.cmd.ProcessState.Success() {
		return
	}
	modes := [][]string{{}, {}, {}, {"--over"}, {"--out"}, {"--stage"}, {"--cri"}, {"--sync"}, {"--until", s.sides.choose(r).step}}
	for range 1 + r.IntN(12) {
		args := append([]string{"step", pod, "--lease", ms(someLease(r)), "--wait", "3s"}, modes[r.IntN(len(modes))]...)
		c := s.start(args...)
		if r.IntN(6) == 0 {
			c.end(ctx, r)
		} else {
			c.lives(ctx, 5*time.Second)
		}
		if c.kill(ctx) || ctx.Err() != nil || !c.cmd.ProcessState.Success() {
			break
		}
	}
	if r.IntN(2) == 0 { // otherwise its lease ends the hold
		s.start("continue", pod).end(ctx, r)
	}
}

// somePods returns a pattern for pods.
func (s *soak) somePods(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return s.pods.random(r)
	case 1:
		return kinds[r.IntN(len(kinds))].name + "-*"
	}
	return "*"
}

// breakSomewhere adds a breakpoint at one of the places that the agent lists.
func (s *soak) breakSomewhere(ctx context.Context, r *rand.Rand) {
	at := s.sides.choose(r)
	args := []string{"break", "add", "default/" + s.somePods(r), "--lease", ms(someLease(r)), "--times", strconv.Itoa(1 + r.IntN(3)),
		"--expires", ms(time.Second + rand64(r, longestExpiry-time.Second)), "--step"}
	switch r.IntN(8) {
	case 0:
		args = append(args, "stage:"+s.sides.stages[r.IntN(len(s.sides.stages))])
	case 1:
		args = append(args, at.step[:1+r.IntN(len(at.step))]+"*")
	default:
		args = append(args, at.step)
	}
	switch r.IntN(8) {
	case 0:
		args = append(args, "--on", "error")
	case 1:
		args = append(args, "--slower-than", ms(rand64(r, 2*time.Second)))
	default:
		args = append(args, "--on", at.on)
	}
	if r.IntN(6) == 0 {
		args = append(args, "--after", strconv.Itoa(r.IntN(5)))
	}
	s.start(args...).end(ctx, r)
}

// files numbers trace files.
var files atomic.Int32

// look runs commands that change nothing.
func (s *soak) look(ctx context.Context, r *rand.Rand) {
	filters := []string{"err", "slow>100ms", "step~cri.*", "kind=hold or kind=release", "step~sync.* err"}
	for range r.IntN(3) {
		s.start("pods", "-o", "json").end(ctx, r)
	}
	var args []string
	switch r.IntN(6) {
	case 0:
		args = []string{"break", "ls", "-o", "json"}
	case 1:
		args = []string{"trace", s.pods.random(r), "--until", "deleted", "-o", "json"}
	case 2:
		args = []string{"trace", "--filter", filters[r.IntN(len(filters))], "-o", "wide"}
	case 3:
		args = []string{"trace", "--node-events", "--step", s.sides.choose(r).step, "--no-history"}
	case 4:
		args = []string{"trace", "-w", filepath.Join(s.dir, fmt.Sprintf("%d.podstep", files.Add(1)%mostFiles)), "--quiet", "--node-events"}
	case 5:
		args = []string{"continue", "default/" + s.pods.random(r)}
	}
	s.start(args...).end(ctx, r)
}

// mostFiles bounds the trace files on the disk. Later files replace earlier ones.
const mostFiles = 50

// injectFault makes a step fail, or take long, for a pod whose label allows faults.
func (s *soak) injectFault(ctx context.Context, r *rand.Rand) {
	step := s.sides.failing[r.IntN(len(s.sides.failing))]
	action := "fail=Unavailable: the soak wants it"
	if r.IntN(3) == 0 {
		action = "delay=" + ms(100*time.Millisecond+rand64(r, 4*time.Second))
	}
	c := s.start("break", "add", "default/*", "-l", faultsLabel+"=yes", "--step", step, "--action", action,
		"--times", strconv.Itoa(1+r.IntN(2)), "--expires", "20s")
	if r.IntN(4) == 0 {
		c.end(ctx, r)
	}
	c.lives(ctx, 10*time.Second)
	c.kill(ctx)
}
