package attach

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/cri/relay"
)

const (
	// waitForCalls bounds how long calls under way are waited for when podstep
	// goes: as long as the kubelet itself waits for most.
	waitForCalls = 2 * time.Minute
	// lookAgain is how often it is said what is waited for.
	lookAgain = 2 * time.Second
)

// Stop detaches: pods that are held go on, the runtime's path is given back, the
// kubelet is asked to go there, and calls that are under way come to their end.
// When ctx ends they are cut off instead, and the kubelet makes them again.
func (s *Session) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.result = s.detach(ctx) })
	return s.result
}

func (s *Session) detach(ctx context.Context) error {
	var errs []error
	s.cancel()
	s.beside.Wait()
	s.agent.Close()
	s.server.Stop()
	// Giving the path back is short and is done whatever ctx says.
	for _, k := range s.sockets {
		if err := k.give(context.WithoutCancel(ctx)); err != nil {
			errs = append(errs, fmt.Errorf("give %s back: %w; podstep restore tries again", k.path, err))
		}
	}
	s.drain(ctx)
	for _, k := range s.sockets {
		k.hangUp()
	}
	s.pods.close()
	s.teller.close()
	return errors.Join(errs...)
}

// drain waits until no call is under way.
func (s *Session) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, waitForCalls)
	defer cancel()
	look := time.NewTicker(lookAgain / 100)
	defer look.Stop()
	said := time.Now()
	for {
		calls := s.calls()
		if len(calls) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			s.say("cut off while under way: %s; the kubelet makes its calls again", list(calls))
			return
		case <-look.C:
		}
		if time.Since(said) > lookAgain {
			said = time.Now()
			s.say("waits for what is under way: %s", list(calls))
		}
	}
}

func (s *Session) calls() (out []relay.Call) {
	for _, k := range s.sockets {
		out = append(out, k.calls()...)
	}
	return out
}

// list names calls and their age, the oldest first.
func list(calls []relay.Call) string {
	sort.Slice(calls, func(i, j int) bool { return calls[i].Began.Before(calls[j].Began) })
	var out []string
	for i, c := range calls {
		if i == 3 {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		name := c.Method[strings.LastIndexByte(c.Method, '/')+1:]
		out = append(out, fmt.Sprintf("%s for %v", name, time.Since(c.Began).Round(time.Second)))
	}
	return strings.Join(out, ", ")
}
