package attach

import (
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
)

// failedToStart notes that a probe could not be started. One that may be tried again is noted later: that depends on
// the others. A probe that this kubelet cannot have at all is not tried again.
func (h *Host) failedToStart(k Kind, err error) {
	if h.retry = k.Again && h.probe != nil; !h.retry {
		h.leaveOut(err)
		return
	}
	h.probe = nil // it has left nothing behind, and is not to be stopped
}

// retryOrLeave makes a probe that could not be started start again, if other probes work meanwhile.
func (h *Host) retryOrLeave(k Kind, others bool, err error) {
	switch {
	case !h.retry:
	case !others:
		h.leaveOut(err)
	default:
		h.Working(err)
		h.again.Add(1)
		go h.startAgain(k)
	}
}

// startAgain starts a probe again and again whose start has failed, until it works, or is to stop. A probe that fails
// leaves nothing behind, so each try has a probe of its own.
func (h *Host) startAgain(k Kind) {
	defer h.again.Done()
	last := ""
	for wait := againSoon; ; wait = min(2*wait, restartLate) {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(wait):
		}
		err := h.tryAgain(k)
		if err == nil {
			h.Note("the "+h.name+" probe works now", nil)
			return
		}
		if h.ctx.Err() == nil && err.Error() != last { // the person at the terminal need not read the same again and again
			last = err.Error()
			h.Working(err)
			continue
		}
		h.State(agentpb.ProbeState_PROBE_RETRYING, probes.OfError(err))
	}
}

// againSoon is the first wait before a start that has failed is tried again. Each try may cost the kubelet a
// connection.
const againSoon = time.Second

// tryAgain makes a probe and starts it.
func (h *Host) tryAgain(k Kind) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("podstep failed: %s", redact.Panic(r))
		}
		if err != nil {
			h.probe = nil
		}
	}()
	if h.probe, err = k.New(h.session.target); err != nil {
		return err
	}
	return h.probe.Start(h.ctx, h)
}
