package attach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relayproc"
)

// socket is one of the runtime's sockets while a relay process has its path.
type socket struct {
	*relayed
	path string

	mu     sync.Mutex
	client *relayproc.Client // nil while there is no relay process
	forget func()            // ends the client's look at what is armed
}

// take has a relay process take the path over.
func (s *socket) take(ctx context.Context) (*relayproc.Ready, error) {
	k := &s.target.Kubelet
	client, ready, err := relayproc.Start(ctx, relayproc.Options{
		Path: s.path, Root: k.Root, Dir: s.target.state, ForceAfter: forceAfter, GuardCommand: s.target.guard,
		PID: k.PID, Started: k.Started, Methods: names(cri.Methods()), Bare: s.bare(), Known: cri.Names(), Stay: stay, Unused: s.target.unused,
	}, s.target.relay, s.handler())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
	arm := func() { client.Arm(s.host.Armed) }
	s.forget = s.host.OnArmed(arm)
	arm()
	return ready, nil
}

// handler gets what the relay process reports.
func (s *socket) handler() relayproc.Handler {
	h := relayproc.Handler{Watcher: s.see, Note: s.noted, Lost: s.host.Agent.Lost}
	if m := s.target.metrics; m != nil {
		h.Count = m.Count
	}
	return h
}

// bare are the methods whose calls are seen without what they carry.
func (s *socket) bare() []string {
	if !s.all {
		return nil
	}
	return names(cri.Others())
}

func names(methods []cri.Method) (out []string) {
	for _, m := range methods {
		out = append(out, m.Name)
	}
	return out
}

// now is the client of the relay process that has the path; nil: there is none.
func (s *socket) now() *relayproc.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

const (
	// restartSoon and restartLate bound how long a relay process that has ended is waited
	// with before the next one, each time twice as long; well after restartForgot.
	restartSoon, restartLate = 200 * time.Millisecond, time.Minute
	restartForgot            = 10 * time.Minute
)

// keep starts another relay process when the one there was has ended, until ctx ends.
func (s *socket) keep(ctx context.Context) {
	wait := restartSoon
	for began := time.Now(); ; {
		c := s.now()
		select {
		case <-ctx.Done():
			return
		case <-c.Done():
		}
		s.forget()
		if time.Since(began) > restartForgot {
			wait = restartSoon
		}
		why := fmt.Errorf("the relay process %d has ended, or hung; its guard gives %s back", c.PID(), s.path)
		if unused := c.Unused(); unused != "" {
			// To be there again at once would be as much use, and costs the kubelet a connection.
			why, wait = fmt.Errorf("%s has its socket back: %s", s.path, unused), s.target.again
		}
		for {
			s.host.Working(why)
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			wait = min(2*wait, restartLate)
			began = time.Now()
			if _, why = s.take(ctx); why == nil {
				break
			}
		}
		s.host.Working(nil)
		if m := s.target.metrics; m != nil {
			m.Restarted()
		}
		s.host.Note("another relay process has "+s.path, nil)
	}
}
