package attach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/attach/verbosity"
)

// raising is the kubelet's -v while podstep has raised it. The zero value raises nothing.
type raising struct {
	mu     sync.Mutex
	raised *verbosity.Raised // nil: it is not raised
	to     int
	timer  *time.Timer
	// changed is called with each new -v; nil: nobody wants to know.
	changed func(v int)
}

// raise raises the kubelet's -v, if o wants that, and puts the old value back when the time is over.
func (s *Session) raise(ctx context.Context) error {
	if s.o.RaiseVerbosity == 0 {
		return nil
	}
	raised, err := verbosity.Raise(ctx, verbosity.Options{
		Kubelet: s.o.Kubelet, Kubeconfig: s.o.Kubeconfig, To: s.o.RaiseVerbosity, For: s.o.RaiseFor, Dir: s.o.State, Note: s.note,
	})
	if err != nil {
		return err
	}
	r := &s.target.raising
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raised, r.to = raised, s.o.RaiseVerbosity
	r.timer = time.AfterFunc(time.Until(raised.Until()), func() {
		if err := s.putBack(context.Background()); err != nil {
			s.note("podstep cannot put the kubelet's -v back", err)
		}
	})
	return nil
}

// noteRaised notes in the node's story that the -v is raised.
func (s *Session) noteRaised() {
	r := &s.target.raising
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.raised != nil {
		s.note(fmt.Sprintf("the kubelet logs with -v=%d in place of %d until %s", r.to, r.raised.Old, r.raised.Until().Local().Format("15:04:05")), nil)
	}
}

// putBack puts the old value back, once.
func (s *Session) putBack(ctx context.Context) error {
	r := &s.target.raising
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.raised == nil {
		return nil
	}
	r.timer.Stop()
	err, old := r.raised.Back(ctx), r.raised.Old
	r.raised = nil
	if err != nil {
		return err
	}
	s.note(fmt.Sprintf("the kubelet logs with -v=%d again", old), nil)
	if r.changed != nil {
		r.changed(old)
	}
	return nil
}

// onVerbosity makes podstep call changed when it has put the old -v back.
func (r *raising) onVerbosity(changed func(v int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// verbosity returns the raised -v; 0: it is not raised.
func (r *raising) verbosity() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.raised == nil {
		return 0
	}
	return r.to
}
