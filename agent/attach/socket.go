package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// socket is one of the runtime's sockets while a relay process has its path.
type socket struct {
	*relayed
	path string
	file string // has the state of the takeover

	mu          sync.Mutex
	client      *relayproc.Client // nil while there is no relay process
	unsubscribe func()            // stops telling the client what is armed
}

// takeOver makes a relay process take the path over. If it fails, the path is the runtime's.
func (s *socket) takeOver(ctx context.Context) (*relayproc.Ready, error) {
	k := s.target.current()
	file, err := takeover.StateFile(s.target.state, k.Root, s.path)
	if err != nil {
		return nil, err
	}
	s.file = file
	client, ready, err := relayproc.Start(ctx, relayproc.Options{
		Path: s.path, Root: k.Root, Dir: s.target.state, ForceAfter: forceAfter, GuardCommand: s.target.guard,
		PID: k.PID, Started: k.Started, Program: k.Program, Methods: names(cri.Methods()), Bare: s.bare(), Known: cri.Names(), Stay: stay, Unused: s.target.unused,
	}, s.target.relay, s.handler())
	if err != nil {
		return nil, errors.Join(err, s.ensure(ctx, relayproc.PIDOf(err)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
	arm := func() { client.Arm(s.host.Armed) }
	s.unsubscribe = s.host.OnArmed(arm)
	arm()
	return ready, nil
}

// startTries is how often a relay process is started that ends before a call went through it.
const startTries = 5

// takeFirst is takeOver for a probe that begins: it tries again if the relay process was killed.
func (s *socket) takeFirst(ctx context.Context) (ready *relayproc.Ready, err error) {
	for wait, n := restartSoon, 1; ; wait, n = 2*wait, n+1 {
		ready, err = s.takeOver(ctx)
		if n == startTries || !errors.Is(err, relayproc.ErrEnded) {
			return ready, err
		}
		s.host.Print("%v: podstep starts another", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// ensure makes sure that the path is the runtime's after the relay process has left, or has died, or both that one and
// its guard have. pid is the relay process's; 0: it has changed nothing. The error is why the path may not be the
// runtime's.
func (s *socket) ensure(ctx context.Context, pid int) error {
	p := &taken{path: s.path, root: s.target.current().Root, file: s.file, pid: pid}
	did, err := p.ensure(ctx)
	if len(did) > 0 {
		s.host.Note(fmt.Sprintf("podstep itself gave %s back: the relay process and its guard had left it (%s)", s.path, strings.Join(did, "; ")), nil)
	}
	s.target.owed.note(p, err)
	return err
}

// handler returns what handles the relay process's reports.
func (s *socket) handler() relayproc.Handler {
	h := relayproc.Handler{Watcher: s.see, Note: s.noted, Lost: s.host.Agent.Lost}
	if m := s.target.metrics; m != nil {
		h.Count = m.Count
	}
	return h
}

// bare returns the methods whose calls are seen without their messages.
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

// now returns the client of the relay process that has the path; nil: there is none.
func (s *socket) now() *relayproc.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

const (
	// restartSoon and restartLate bound the wait before a relay process that has ended is started again. The wait
	// doubles each time, and begins anew after one that worked for restartForgot.
	restartSoon, restartLate = 200 * time.Millisecond, time.Minute
	restartForgot            = 10 * time.Minute
)

// keep starts another relay process whenever one has ended, until ctx ends.
func (s *socket) keep(ctx context.Context) {
	wait := restartSoon
	for began := time.Now(); ; {
		c := s.now()
		select {
		case <-ctx.Done():
			return
		case <-c.Done():
		}
		s.unsubscribe()
		if err := s.ensure(ctx, c.PID()); err != nil {
			s.host.Note("the relay process has ended", err)
		}
		if time.Since(began) > restartForgot {
			wait = restartSoon
		}
		why := fmt.Errorf("the relay process %d has ended, or hung; its guard gives %s back", c.PID(), s.path)
		if unused := c.Unused(); unused != "" {
			// Taking the path again at once would be of no more use, and would cost the kubelet a connection.
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
			if _, why = s.takeOver(ctx); why == nil {
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
