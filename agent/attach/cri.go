package attach

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// CRI is the probe between the kubelet and its runtime: it sees the calls, and can
// hold them back.
var CRI = Kind{Name: "cri", Abilities: func(c *probes.Catalogue, _ *Target) probes.Abilities { return cri.Abilities(c) }, New: newCRI, InPath: true, Again: true}

// AllCalls is CRI, but also sees the calls that are no steps of their own.
var AllCalls = Kind{Name: CRI.Name, Abilities: func(c *probes.Catalogue, _ *Target) probes.Abilities { return cri.AllAbilities(c) }, InPath: true, Again: true, New: func(t *Target) (Probe, error) {
	p, err := newCRI(t)
	if r, ok := p.(*relayed); ok {
		r.all = true
	}
	return p, err
}}

const (
	// forceAfter is how long a connection of the kubelet may be busy before it is cut. That happens only to one that
	// never ends a call, or never reads.
	forceAfter = 5 * time.Minute
	// stay is how long a relay process keeps the path for a podstep that comes back.
	stay = 5 * time.Second
)

// relayed are the runtime's sockets while the kubelet's calls go through relay processes.
type relayed struct {
	target    *Target
	all       bool // calls that are no steps of their own are seen too
	host      *Host
	publisher *publisher
	pods      *identities
	see       *watcher
	sockets   []*socket

	stopping context.CancelFunc
	ended    sync.WaitGroup // of the goroutines that look after the sockets
}

func newCRI(t *Target) (Probe, error) {
	if len(endpoints(&t.Kubelet)) == 0 {
		return nil, errors.New("it does not speak to its runtime over a unix socket, so there is nothing to come between")
	}
	return &relayed{target: t, publisher: newPublisher()}, nil
}

// endpoints are the sockets to take over, each once, whatever names it has.
func endpoints(k *kubelets.Kubelet) (paths []string) {
	for _, p := range []string{k.RuntimeEndpoint, k.ImageEndpoint} {
		if p != "" && (len(paths) == 0 || !k.SameSocket(paths[0], p)) {
			paths = append(paths, p)
		}
	}
	return paths
}

// Start takes the runtime's sockets over. Calls that pass before the runtime's pods are known wait to be published.
func (r *relayed) Start(ctx context.Context, h *Host) error {
	r.prepare(h)
	err := r.takeSockets(ctx)
	go r.publisher.run()
	if err != nil {
		return errors.Join(err, r.Stop(ctx))
	}
	h.Working(nil)
	return nil
}

// prepare makes what publishes the calls.
func (r *relayed) prepare(h *Host) {
	r.host, r.pods = h, newIdentities(h)
	r.publisher.failed = func(v any) { h.Agent.Note("podstep failed to report a call: " + redact.Panic(v)) }
	r.see = &watcher{agent: h.Agent, probe: h.Probe, publisher: r.publisher, pods: r.pods}
}

func (r *relayed) takeSockets(ctx context.Context) error {
	var live context.Context
	live, r.stopping = context.WithCancel(r.host.Context())
	for _, path := range endpoints(&r.target.Kubelet) {
		s := &socket{relayed: r, path: path}
		ready, err := s.takeFirst(ctx)
		if err != nil {
			return err
		}
		if ready.Past > 0 {
			r.host.Print("not seen: calls that the kubelet began before, on %d of its connections to %s", ready.Past, path)
		}
		r.sockets = append(r.sockets, s)
		r.ended.Go(func() { s.keep(live) })
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return r.target.current().DialSocket(ctx, r.sockets[0].path)
	}
	if err := r.pods.reach(dial); err != nil {
		return err
	}
	if err := r.pods.load(ctx); err != nil {
		r.host.Note("calls about pods that are there already may not be known as theirs", err)
	}
	return nil
}

// noted puts a note about the runtime's socket into the node's story.
func (r *relayed) noted(n takeover.Note) { r.host.Note(n.Text, n.Err) }
