package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/cri/relayproc"
)

const (
	// waitForCalls is how long podstep waits for calls under way when it ends. They do not need podstep: those that
	// take longer end in the relay process.
	waitForCalls = 10 * time.Second
	// printAgain is how often podstep prints what it waits for.
	printAgain = 2 * time.Second
)

// Stop gives the runtime's path back, and makes the kubelet connect to the runtime again. It waits at most
// waitForCalls for calls under way, or until ctx ends. It cuts no call off: those that are left end in the relay
// process, which ends with them. The caller must have let held pods go on before.
func (r *relayed) Stop(ctx context.Context) error {
	if r.stopping != nil {
		r.stopping()
	}
	r.ended.Wait()
	var errs []error
	for _, s := range r.sockets {
		errs = append(errs, s.giveBack(ctx))
	}
	r.pods.close()
	r.publisher.close()
	return errors.Join(errs...)
}

// giveBack gives one path back.
func (s *socket) giveBack(ctx context.Context) error {
	c := s.now()
	if c == nil {
		return nil
	}
	s.unsubscribe()
	// Giving the path back is short, and is done although ctx may have ended.
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitForCalls)
	defer cancel()
	printed := time.Now()
	var last *relayproc.Left
	err := c.Leave(wait, func(left *relayproc.Left) {
		last = left
		if ctx.Err() != nil {
			cancel()
			return
		}
		if len(left.Calls) > 0 && time.Since(printed) > printAgain {
			printed = time.Now()
			s.host.Print("waits for what is under way: %s", list(left.Calls))
		}
	})
	// Whatever became of the relay process and its guard, and whatever they report: the path is the runtime's now, or
	// this is an error.
	if err = errors.Join(err, s.ensure(ctx, c.PID())); err != nil {
		return err
	}
	if wait.Err() != nil && last != nil && len(last.Calls) > 0 {
		s.host.Print("left to process %d, which ends with the last of them: %s", c.PID(), list(last.Calls))
	}
	return nil
}

// list names calls and their age, the oldest first.
func list(calls []relayproc.Call) string {
	var out []string
	for i, c := range calls {
		if i == 3 {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		out = append(out, c.String())
	}
	return strings.Join(out, ", ")
}
