package relayproc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/cri/takeover"
)

// answerWithin is how long a call of the kubelet is waited for that goes through the relay
// process and is answered. A kubelet asks its runtime at least every five seconds.
const answerWithin = 15 * time.Second

// works waits until a call of the kubelet has gone through here and was answered. The error
// is why calls do not go through.
func (p *process) works() error {
	if p.o.PID == 0 {
		return nil // there is no kubelet to wait for
	}
	until := time.After(answerWithin)
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		answered, refused := p.conns.served()
		if answered > 0 {
			return nil
		}
		select {
		case <-look.C:
			continue
		case <-p.gone:
			return errors.New("the path is given back")
		case <-until:
		}
		switch {
		case refused != nil:
			return fmt.Errorf("the runtime cannot be reached from podstep's process, as a security policy may have it: %w", refused)
		case p.conns.kubeletPID() != 0:
			return unanswered(p.o.Path, p.conns.waiting())
		}
		return p.stayedAway()
	}
}

// stayedAway is why the kubelet has not come; nil if it is to be expected yet.
func (p *process) stayedAway() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // look, and do not wait
	past, _ := p.taken.Came(ctx)
	switch {
	case len(past) == 0:
		return errors.New("the kubelet does not connect to podstep's socket, as a security policy or a kubelet that hangs may have it")
	case !runs(p.o.PID):
		return nil // it comes when it goes on
	case slices.ContainsFunc(past, func(c takeover.Connection) bool { return c.Asked.IsZero() }):
		return nil // it may not have been asked yet, and is asked on
	}
	return fmt.Errorf("the kubelet makes no new calls: it waits for some that it began before, on %d of its connections, and the runtime does not answer them. %s", len(past), lookAt(p.o.Path))
}

// lookAt is what to do about a runtime that does not answer.
func lookAt(path string) string {
	return path + " is the runtime's again; look into the runtime's log, and whether it answers crictl pods"
}

// unanswered is that the kubelet has come, and waits for these calls.
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
