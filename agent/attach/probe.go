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
	// Name is the probe's name, in its events and for people.
	Name string
	// Abilities returns what such a probe of a kubelet can do when it runs.
	Abilities func(*probes.Catalogue, *Target) probes.Abilities
	// New prepares a probe of a kubelet. It changes nothing on the machine. It fails with the reason if this kubelet
	// can have no such probe.
	New func(*Target) (Probe, error)
	// InPath: while the probe works, a process of podstep stands between the kubelet and others.
	InPath bool
	// OnRequest: the probe is hosted only if somebody names it.
	OnRequest bool
	// Again: if the probe's start fails, it is tried again, unless no other probe works either.
	Again bool
}

// LeftOut is a kind of probe that somebody does not want, and the reason.
type LeftOut struct {
	Kind Kind
	Why  probes.Reason
}

// abilities returns those that the probe would have. A step that it would not see happens inside the kubelet, unless
// the catalogue has it outside, and gets that as the reason.
func (l *LeftOut) abilities(c *probes.Catalogue, t *Target) probes.Abilities {
	can := l.Kind.Abilities(c, t)
	for name, x := range can.Steps {
		if reasons.General(x.Unseen) && !c.Step(name).Outside() {
			can.Steps[name] = probes.Ability{Unseen: reasons.Inside.Reason()}
		}
	}
	return can
}

// Probe is one way of seeing the steps of a kubelet that runs.
type Probe interface {
	// Start begins to see. From its return on the probe sees what happens, or from its call of h.Working(nil) on. If
	// it fails, nothing of it is left on the machine. It starts goroutines with h.Go, and they use h.Context.
	Start(ctx context.Context, h *Host) error
	// Stop ends what Start began, and returns when nothing of it is left, at the
	// latest soon after ctx ends. It is called once, also after h.Failed.
	Stop(ctx context.Context) error
}

// Host is the part of a session that one of its probes uses.
type Host struct {
	// Probe is where the probe reports the calls that it sees, and its state.
	*agent.Probe
	// Agent is where the probe reports what it knows of pods.
	Agent *agent.Agent

	name    string
	session *Session
	whole   *Host // of the whole probe, if this is the host of a part of it
	probe   Probe
	ctx     context.Context
	cancel  context.CancelFunc
	failing sync.Once
	ending  sync.Once
	ended   error

	retry bool           // its start has failed, and may be tried again
	again sync.WaitGroup // of the goroutine that starts the probe again
}

// during makes the host of a part of the probe. The context of that part may end earlier.
func (h *Host) during() *Host {
	part := &Host{Probe: h.Probe, Agent: h.Agent, name: h.name, session: h.session, whole: h}
	part.ctx, part.cancel = context.WithCancel(h.ctx)
	return part
}

// Context returns a context that lives until the probe is to stop.
func (h *Host) Context() context.Context { return h.ctx }

// Target is the kubelet.
func (h *Host) Target() *Target { return h.session.target }

// Go calls run on a goroutine of its own. A panic in it ends the probe, and not the process, through which the
// kubelet's calls may go.
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

// Working notes that the probe works, or, with an error, that it sees nothing now and tries again by itself.
func (h *Host) Working(err error) {
	if err == nil {
		h.State(agentpb.ProbeState_PROBE_RUNNING, probes.Reason{})
		return
	}
	h.State(agentpb.ProbeState_PROBE_RETRYING, probes.OfError(err))
	h.session.printf("the %s probe sees nothing now, and tries again: %v", h.name, err)
}

// Failed notes that the probe has failed, and stops it. The other probes go on.
func (h *Host) Failed(err error) {
	if h.whole != nil {
		h.whole.Failed(err)
		return
	}
	h.failing.Do(func() {
		h.State(agentpb.ProbeState_PROBE_FAILED, probes.OfError(err))
		h.session.printf("the %s probe has failed, and is stopped: %v", h.name, err)
		go func() {
			if err := h.stop(context.WithoutCancel(h.ctx)); err != nil {
				h.Note("stopping the "+h.name+" probe failed", err)
			}
		}()
	})
}

// leaveOut notes that the probe could not be started.
func (h *Host) leaveOut(err error) {
	h.failing.Do(func() {})
	h.ending.Do(h.cancel)
	h.State(agentpb.ProbeState_PROBE_FAILED, probes.OfError(err))
	h.session.printf("the %s probe sees nothing: %v", h.name, err)
}

// renew finds out what the probes can do with the present kubelet: it may be of another version than the one before.
func (h *Host) renew() {
	if c, err := probes.Load(); err == nil {
		h.Agent.SetAbilities(h.session.abilities(c))
	}
}

// Note puts a text into the node's story, and writes it to the person at the terminal. The error may be nil.
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

// stop stops the probe once. Later calls return the result of the first.
func (h *Host) stop(ctx context.Context) error {
	h.ending.Do(func() {
		h.cancel()
		h.again.Wait()
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
