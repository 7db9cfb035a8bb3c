package attach

import (
	"context"
	"errors"
	"time"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// CRI is the probe between the kubelet and its runtime: it sees the calls, and can
// hold them back.
var CRI = Kind{Name: "cri", Abilities: cri.Abilities, New: newCRI}

// forceAfter is how long a connection of the kubelet may be busy before it is
// cut. Only one that never ends a call, or never reads, comes to that.
const forceAfter = 5 * time.Minute

// relayed is the runtime's sockets while the kubelet's calls go through this
// process.
type relayed struct {
	target    *Target
	host      *Host
	publisher *publisher
	pods      *identities
	sockets   []*socket
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

// Start takes the runtime's sockets over. What passes before it is known whose it
// is waits to be published.
func (r *relayed) Start(ctx context.Context, h *Host) error {
	r.meet(h)
	err := r.take(ctx)
	go r.publisher.run()
	if err != nil {
		return errors.Join(err, r.Stop(ctx))
	}
	h.Working(nil)
	return nil
}

// meet prepares for what is seen.
func (r *relayed) meet(h *Host) {
	r.host, r.pods = h, newIdentities(h)
	r.publisher.failed = func(v any) { h.Agent.Note("podstep failed to report a call: " + redact.Panic(v)) }
}

func (r *relayed) take(ctx context.Context) error {
	see := &watcher{agent: r.host.Agent, probe: r.host.Probe, publisher: r.publisher, pods: r.pods}
	for _, p := range endpoints(&r.target.Kubelet) {
		k := &socket{path: p, kubelet: r.target.isKubelet, see: see}
		err := k.take(ctx, takeover.Options{
			Root: r.target.Kubelet.Root, Dir: r.target.state, Note: r.noted, ForceAfter: forceAfter, GuardCommand: r.target.guard,
		})
		if err != nil {
			return err
		}
		r.sockets = append(r.sockets, k)
	}
	if err := r.pods.reach(r.sockets[0].dial); err != nil {
		return err
	}
	if err := r.pods.load(ctx); err != nil {
		r.host.Note("calls about pods that are there already may not be known as theirs", err)
	}
	r.awaitKubelet(ctx)
	return nil
}

// comeWithin is how long the kubelet's connections are waited for. A call that
// was under way before may take any time.
const comeWithin = 3 * time.Second

// awaitKubelet waits until the kubelet's calls come through here, so that who is
// told that podstep is attached misses none.
func (r *relayed) awaitKubelet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, comeWithin)
	defer cancel()
	for _, k := range r.sockets {
		if left, err := k.taken.Came(ctx); err == nil && len(left) > 0 {
			r.host.Print("not seen: calls that the kubelet began before, on %d of its connections to %s", len(left), k.path)
		}
	}
}

// noted puts into the node's story what happened to the runtime's socket.
func (r *relayed) noted(n takeover.Note) { r.host.Note(n.Text, n.Err) }

// isKubelet reports whether a process is the kubelet, or one that was started in
// its place. One that was named by its pid may have any name.
func (t *Target) isKubelet(pid int) bool {
	return pid == t.Kubelet.PID && t.Kubelet.Same() || kubelets.Is(pid)
}
