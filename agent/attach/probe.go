package attach

import (
	"context"
	"fmt"
	"sync"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Kind is a kind of probe that a session can host.
type Kind struct {
	// Name is that of the probe, in its events and for people.
	Name string
	// Abilities is what such a probe of a kubelet can do when it runs.
	Abilities func(*probes.Catalogue, *Target) probes.Abilities
	// New prepares a probe of a kubelet. It changes nothing on the machine. The
	// error is the reason why there can be none here.
	New func(*Target) (Probe, error)
	// InPath: something of ours stands between the kubelet and others while it works.
	InPath bool
	// OnRequest: it works only if somebody names it.
	OnRequest bool
}

// LeftOut is a kind of probe that somebody does not want, and the reason.
type LeftOut struct {
	Kind Kind
	Why  probes.Reason
}

// abilities are those that the probe would have. What it would not see happens inside the
// kubelet, and nothing that comes of it is seen either.
func (l *LeftOut) abilities(c *probes.Catalogue, t *Target) probes.Abilities {
	can := l.Kind.Abilities(c, t)
	for name, x := range can.Steps {
		if !x.Sees() && !c.Step(name).Outside() {
			can.Steps[name] = probes.Ability{Unseen: reasons.Inside.Reason()}
		}
	}
	return can
}

// Probe is one way of seeing the steps of a kubelet that runs.
type Probe interface {
	// Start begins to see. It returns when what happens from then on is seen, or will
	// be as soon as h.Working(nil) says so. If it fails, nothing of it is left on
	// the machine. Whatever runs on is started with h.Go, and uses h.Context.
	Start(ctx context.Context, h *Host) error
	// Stop ends what Start began, and returns when nothing of it is left, at the
	// latest soon after ctx ends. It is called once, also after h.Failed.
	Stop(ctx context.Context) error
}

// Host is what a session is to one of its probes.
type Host struct {
	// Probe is where the probe reports the calls that it sees, and its state.
	*agent.Probe
	// Agent is where the probe reports what it knows of pods.
	Agent *agent.Agent

	name    string
	session *Session
	probe   Probe
	ctx     context.Context
	cancel  context.CancelFunc
	failing sync.Once
	ending  sync.Once
	ended   error
}

// Context lives until the probe is to stop.
func (h *Host) Context() context.Context { return h.ctx }

// Target is the kubelet.
func (h *Host) Target() *Target { return h.session.target }

// Go runs what a probe does, on a goroutine of its own. A panic costs the probe, not the
// process, through which the kubelet's calls may go.
func (h *Host) Go(run func()) {
	go func() {
		defer func() {
			if r := recover(); r != nil {
				h.Failed(fmt.Errorf("podstep failed: %s", redact.Panic(r)))
			}
		}()
		run()
	}()
}

// Working notes that the probe sees what it is there for, or, with an error, that
// it does not now and tries again by itself.
func (h *Host) Working(err error) {
	if err == nil {
		h.State(agentpb.ProbeState_PROBE_RUNNING, probes.Reason{})
		return
	}
	h.State(agentpb.ProbeState_PROBE_RETRYING, probes.OfError(err))
	h.session.printf("the %s probe sees nothing now, and tries again: %v", h.name, err)
}

// Failed notes that the probe sees nothing any more, and stops it. The others go
// on.
func (h *Host) Failed(err error) {
	h.failing.Do(func() {
		h.State(agentpb.ProbeState_PROBE_FAILED, probes.OfError(err))
		h.session.printf("the %s probe has failed, and is stopped: %v", h.name, err)
		if h.probe != nil {
			go func() {
				if err := h.stop(context.WithoutCancel(h.ctx)); err != nil {
					h.Note("stopping the "+h.name+" probe failed", err)
				}
			}()
		}
	})
}

// leaveOut notes that the probe could not be started.
func (h *Host) leaveOut(err error) {
	h.failing.Do(func() {})
	h.ending.Do(h.cancel)
	h.State(agentpb.ProbeState_PROBE_FAILED, probes.OfError(err))
	h.session.printf("the %s probe sees nothing: %v", h.name, err)
}

// Note puts it into the node's story, and writes it to the person at the terminal. The
// error may be nil.
func (h *Host) Note(text string, err error) { h.session.note(text, err) }

// Print writes a line to the person at the terminal.
func (h *Host) Print(format string, args ...any) { h.session.printf(format, args...) }

// start starts the probe. One that fails leaves nothing behind.
func (h *Host) start(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("podstep failed: %s", redact.Panic(r))
		}
	}()
	return h.probe.Start(ctx, h)
}

// stop stops the probe, whoever calls it and however often.
func (h *Host) stop(ctx context.Context) error {
	h.ending.Do(func() {
		h.cancel()
		if h.probe == nil {
			return
		}
		defer func() {
			if r := recover(); r != nil {
				h.ended = fmt.Errorf("podstep failed: %s", redact.Panic(r))
			}
		}()
		h.ended = h.probe.Stop(ctx)
	})
	return h.ended
}
