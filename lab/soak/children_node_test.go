//go:build node

package soak

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
)

// child is a podstep command that runs.
type child struct {
	s         *soak
	verb      string
	cmd       *exec.Cmd
	out, errs *scanner
	done      chan struct{}
}

// command returns a podstep command that is not started yet.
func (s *soak) command(args ...string) *exec.Cmd {
	cmd := exec.Command(labtest.Bin(s.t, "podstep"), args...)
	cmd.Env = append(os.Environ(), client.SocketEnv+"="+s.l.State.Agent)
	return cmd
}

func (s *soak) start(args ...string) *child {
	c := &child{s: s, verb: strings.Join(args[:min(len(args), 1)], ""), cmd: s.command(args...), done: make(chan struct{})}
	c.out = &scanner{c: s.seen.canaries, where: "what podstep " + c.verb + " prints"}
	c.errs = &scanner{c: s.seen.canaries, where: "what podstep " + c.verb + " says"}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.errs
	return c.started(c.cmd.Start())
}

// started waits for the end of a command in the background.
func (c *child) started(err error) *child {
	if err != nil {
		c.s.errorf("start podstep %s: %v", c.verb, err)
		close(c.done)
		return c
	}
	c.s.counts.add("podstep "+c.verb, 1)
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait()
		if printed := c.errs.head(); crashed(printed) {
			c.s.errorf("podstep %v: %s", c.cmd.Args[1:], printed)
		}
	}()
	return c
}

func (c *child) signal(sig syscall.Signal) {
	if c.cmd.Process != nil {
		_ = c.cmd.Process.Signal(sig) // it may have ended
	}
}

func (c *child) kill(ctx context.Context) (killed bool) {
	select {
	case <-c.done:
		return false
	default:
	}
	c.signal(syscall.SIGKILL)
	<-c.done
	if ctx.Err() == nil {
		c.s.counts.add("podstep killed at random", 1)
	}
	return true
}

// end lets the command live for a while. If it has not ended by then, it ends the command in some way. It reports
// whether it killed the command.
func (c *child) end(ctx context.Context, r *rand.Rand) (killed bool) {
	most := []time.Duration{300 * time.Millisecond, 3 * time.Second, 3 * time.Second, 8 * time.Second}[r.IntN(4)]
	how, life, pause := r.IntN(20), rand64(r, most), rand64(r, 5*time.Second)
	if r.IntN(10) == 0 {
		pause = deadAfter + 10*time.Second
	}
	if !c.lives(ctx, life) {
		return c.kill(ctx)
	}
	switch {
	case how < 11:
		return c.kill(ctx)
	case how < 13:
		c.signal(syscall.SIGINT)
	case how < 15:
		c.signal(syscall.SIGTERM)
	case how < 18:
		c.s.counts.add("podstep stopped for a while", 1)
		c.signal(syscall.SIGSTOP)
		c.lives(ctx, pause)
		if how == 15 {
			return c.kill(ctx)
		}
		c.signal(syscall.SIGCONT)
	}
	c.lives(ctx, 10*time.Second)
	return c.kill(ctx)
}

// deadAfter is when the agent takes a client for dead that does not answer.
const deadAfter = 30 * time.Second

// lives waits for a time, or less if the command ends. It reports false if the command is to end now.
func (c *child) lives(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.done:
		return false
	case <-ctx.Done():
		return false
	}
}

// printed is the output of podstep hold -o json.
type printed struct {
	ID   uint32 `json:"id"`
	Step string `json:"step"`
	On   string `json:"on"`
	Why  string `json:"why"`
	Pod  struct {
		Name string `json:"name"`
	} `json:"pod"`
}

// holdWhileRunning holds a pod for as long as the command lives, which is not long. If the command is killed, the
// hold ends.
func (s *soak) holdWhileRunning(ctx context.Context, r *rand.Rand) {
	lease := []string{"5s", "20s", "2m"}[r.IntN(3)]
	c := s.start("hold", "default/"+s.pods.random(r), "--while-running", "-o", "json", "--lease", lease, "--wait", "10s")
	killed := c.end(ctx, r)
	var h printed
	if json.Unmarshal([]byte(c.out.head()), &h) != nil || h.ID == 0 || !killed {
		return
	}
	s.counts.add("holds whose client was killed", 1)
	s.untilReleased(h, "its client was killed")
}

// untilReleased waits for the end of a hold that must end now.
func (s *soak) untilReleased(h printed, why string) {
	for end := time.Now().Add(slack); ; s.sit(time.Second / 10) {
		r, err := s.agent.ListHolds(s.ctx, &agentpb.ListHoldsRequest{})
		if err != nil {
			s.errorf("list holds: %v", err)
			return
		}
		found := false
		for _, o := range r.Holds {
			found = found || o.Id == h.ID
		}
		if !found {
			return
		}
		if time.Now().After(end) {
			s.errorf("pod %s is held still at %s of %s %v after %s", h.Pod.Name, h.On, h.Step, slack, why)
			return
		}
	}
}
