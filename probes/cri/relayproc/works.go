package relayproc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// answerWithin is how long a call of the kubelet may take to go through the relay process and be answered. A
// kubelet asks its runtime at least every five seconds.
const answerWithin = 15 * time.Second

// works waits until a call of the kubelet has gone through here and was answered. The error is why calls do not go
// through: a kubelet that runs has made none within that time. One that is stopped, or has ended, makes no calls through
// any path: then the path is kept, and works waits no longer than that.
func (p *process) works(within time.Duration) error {
	if p.o.PID == 0 {
		return nil // there is no kubelet to wait for
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	began := time.Now()
	for use := (companion.Silence{}); ; {
		answered, _ := p.conns.served()
		if answered > 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-p.gone:
			return errors.New("the path is given back")
		}
		lives := p.kubeletRuns()
		switch idle := use.Update(time.Now(), 0, lives); {
		case idle >= within:
			return p.notAnswered()
		case !lives && time.Since(began) >= within:
			return nil
		}
	}
}

// kubeletRuns reports whether the kubelet is there, and neither stopped nor ended: the one that came last, or the one
// that is expected.
func (p *process) kubeletRuns() bool {
	if pid := p.conns.kubeletPID(); pid != 0 {
		return runs(pid)
	}
	return p.o.PID != 0 && kubelets.Same(p.o.PID, p.o.Started) && runs(p.o.PID)
}

// notAnswered returns why none of the calls of a running kubelet was answered; nil if one is still to be expected.
func (p *process) notAnswered() error {
	_, refused := p.conns.served()
	switch {
	case refused != nil:
		return fmt.Errorf("the runtime cannot be reached from podstep's process, as a security policy may have it: %w", refused)
	case p.conns.kubeletPID() != 0:
		return unanswered(p.o.Path, p.conns.waiting())
	}
	return p.stayedAway()
}

// stayedAway returns why the kubelet has not come; nil if it is still to be expected.
func (p *process) stayedAway() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // look, and do not wait
	past, _ := p.taken.Came(ctx)
	switch {
	case len(past) == 0:
		return errors.New("the kubelet does not connect to podstep's socket, as a security policy or a kubelet that hangs may have it")
	case slices.ContainsFunc(past, func(c takeover.Connection) bool { return c.Asked.IsZero() }):
		return nil // it may not have been asked yet, and will be
	}
	return fmt.Errorf("the kubelet makes no new calls: it waits for some that it began before, on %d of its connections, and the runtime does not answer them. %s", len(past), lookAt(p.o.Path))
}

// lookAt returns what to do about a runtime that does not answer.
func lookAt(path string) string {
	return path + " is the runtime's again; look into the runtime's log, and whether it answers crictl pods"
}

// unanswered returns the error for a kubelet that has come, and waits for these calls.
func unanswered(path string, calls []Call) error {
	why := "its connections end before a call is answered"
	if len(calls) > 0 {
		names := make([]string, len(calls))
		for i, c := range calls {
			names[i] = c.String()
		}
		why = "it waits for " + strings.Join(names, ", ")
	}
	return fmt.Errorf("the kubelet has come, but the runtime has answered none of its calls through podstep: %s. %s", why, lookAt(path))
}
