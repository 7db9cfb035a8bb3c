// Package probetest has a made-up probe for tests: it sees the calls that a test plays. It knows turns and nesting as
// a probe inside the kubelet would, but reads and holds less. It also shows all that a probe needs: a package of its
// own, and a place in the list of hosted probes.
package probetest

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/probes"
)

// Name is the probe's.
const Name = "made"

// Probe is the probe.
type Probe struct {
	// Refuse, if set, is the error of Start.
	Refuse error
	// Stopped is closed when the probe was stopped.
	Stopped chan struct{}

	host *attach.Host
}

// New makes a probe.
func New() *Probe { return &Probe{Stopped: make(chan struct{})} }

// Kind returns a kind with this name, whose New returns the probe. A test may host several.
func (p *Probe) Kind(name string) attach.Kind {
	return attach.Kind{
		Name:      name,
		Abilities: func(*probes.Catalogue, *attach.Target) probes.Abilities { return abilities(name) },
		New:       func(*attach.Target) (attach.Probe, error) { return p, nil },
	}
}

func abilities(name string) probes.Abilities {
	all := probes.Everything()
	seen := probes.Ability{Entry: true, Exit: true, Arguments: true, NoHold: cannotWait.Reason(), NoFail: cannotWait.Reason()}
	seen.Missing = []string{"runtimeHandler"}
	return probes.Abilities{
		Probe: name, Knows: probes.Knows{Turns: true, Nesting: true, Workers: true}, NotSeen: notMade.Reason(),
		Steps: map[string]probes.Ability{"worker.loop": all, "worker.turn": all, "sync.pod": all, "cri.RunPodSandbox": seen},
	}
}

var (
	cannotWait = probes.NewReason("made.cannotWait", probes.Text{En: "it is made up, and waits for nobody here", Zh: "它是虚构的，在此不等待任何人"})
	notMade    = probes.NewReason("made.not", probes.Text{En: "nobody has made it up", Zh: "没有人虚构它"})
)

// Start begins to see what the test plays.
func (p *Probe) Start(_ context.Context, h *attach.Host) error {
	if p.Refuse != nil {
		return p.Refuse
	}
	p.host = h
	h.Working(nil)
	return nil
}

// Stop closes Stopped.
func (p *Probe) Stop(context.Context) error {
	close(p.Stopped)
	return nil
}

// Fail makes the probe fail by itself.
func (p *Probe) Fail() { p.host.Failed(errors.New("the test has it fail")) }

// Panic makes the probe panic on a goroutine of its own.
func (p *Probe) Panic() { p.host.Go(func() { panic("the test has it panic") }) }

// worker is the number of the goroutine of the pod's worker: a test has one.
const worker = 1

// Turn plays a turn of the pod's worker that syncs the pod. body gets the call of sync.pod.
func (p *Probe) Turn(pod *v1.Pod, body func(sync *agent.Call)) {
	loop := p.begin("worker.loop", nil, pod.UID)
	turn := p.begin("worker.turn", loop)
	sync := p.begin("sync.pod", turn, pod, "create")
	_ = sync.Stop(p.host.Context())
	body(sync)
	for _, c := range []*agent.Call{sync, turn, loop} {
		c.End(time.Now(), nil, nil)
	}
}

// Call plays a call within another, around body.
func (p *Probe) Call(step string, in *agent.Call, values []any, body func() error) {
	c := p.begin(step, in, values...)
	err := body()
	c.End(time.Now(), err, nil)
}

func (p *Probe) begin(step string, in *agent.Call, values ...any) *agent.Call {
	return p.host.Begin(agent.Seen{Step: step, At: time.Now(), Values: values, Parent: in, Goroutine: worker})
}
