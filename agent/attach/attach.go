package attach

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// probeCRI is the name of this probe.
const probeCRI = "cri"

// forceAfter is how long a connection of the kubelet may be busy before it is
// cut. Only one that never ends a call, or never reads, comes to that.
const forceAfter = 5 * time.Minute

// Options say what to attach to.
type Options struct {
	Kubelet kubelets.Kubelet
	// Socket is the path of the agent's socket.
	Socket string
	// ReadOnly: the agent holds no pod and injects no fault, whoever asks.
	ReadOnly bool
	// Kubeconfig is a file of the user's, by which the API server and the
	// kubelet's /pods are asked; empty: those that are usual on a node.
	Kubeconfig string
	// State is the directory of the state of takeovers; empty: the usual one.
	State string
	// Say is told what a person may want to know, a line at a time, by one
	// goroutine at a time.
	Say func(line string)
}

// Session is an agent beside a kubelet, whose calls go through this process.
type Session struct {
	o       Options
	began   time.Time
	agent   *agent.Agent
	server  *agent.Server
	teller  *teller
	pods    *identities
	sockets []*socket
	guard   []string // the command that starts the guard; nil: this program's

	cancel context.CancelFunc
	beside sync.WaitGroup // what runs until cancel
	saying sync.Mutex
	stop   sync.Once
	result error
}

// Start attaches. The kubelet's calls go through this process until Stop. If it
// cannot be done, all is as before.
func Start(ctx context.Context, o Options) (*Session, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, began: time.Now(), teller: newTeller()}
	sources := s.sources()
	s.askConfig(ctx, sources.options.Kubelet)
	paths := endpoints(&s.o.Kubelet)
	if len(paths) == 0 {
		return nil, errors.New("it does not speak to its runtime over a unix socket, so there is nothing to come between")
	}
	if err := s.host(c, sources.missing); err != nil {
		return nil, err
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	if err := s.take(ctx, paths); err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	s.beside.Go(func() { _ = cluster.Run(beside, sources.options) })
	return s, nil
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

// host starts the agent and serves its socket.
func (s *Session) host(c *probes.Catalogue, missing map[probes.Witness]string) error {
	seen, unseen, noHold := abilities(c, missing)
	l, err := agent.Listen(s.o.Socket)
	if err != nil {
		return err
	}
	s.agent, err = agent.New(c, agent.Options{
		Version: version.Own(), KubeletVersion: s.o.Kubelet.Version, Node: s.o.Kubelet.Node,
		Probe: probeCRI, Seen: seen, Unseen: unseen, NoHold: noHold, ReadOnly: s.o.ReadOnly,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.teller.failed = func(r any) { s.agent.Note("podstep failed to tell of a call: " + redact.Panic(r)) }
	s.pods = newIdentities(s.agent)
	s.server = agent.Serve(s.agent, l)
	return nil
}

// take takes the runtime's sockets over, and begins to tell. What passes before
// it is known whose it is waits to be told.
func (s *Session) take(ctx context.Context, paths []string) error {
	defer func() { go s.teller.run() }()
	see := &watcher{agent: s.agent, teller: s.teller, pods: s.pods}
	for _, p := range paths {
		k := &socket{path: p, kubelet: s.isKubelet, see: see}
		err := k.take(ctx, takeover.Options{
			Root: s.o.Kubelet.Root, Dir: s.o.State, Note: s.socketNote, ForceAfter: forceAfter, GuardCommand: s.guard,
		})
		if err != nil {
			return err
		}
		s.sockets = append(s.sockets, k)
	}
	if err := s.pods.reach(s.sockets[0].dial); err != nil {
		return err
	}
	if err := s.pods.load(ctx); err != nil {
		s.note(fmt.Sprintf("calls about pods that are there already may not be known as theirs: %v", err))
	}
	s.awaitKubelet(ctx)
	return nil
}

// comeWithin is how long the kubelet's connections are waited for. A call that
// was under way before may take any time.
const comeWithin = 3 * time.Second

// awaitKubelet waits until the kubelet's calls come through here, so that who is
// told that podstep is attached misses none.
func (s *Session) awaitKubelet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, comeWithin)
	defer cancel()
	for _, k := range s.sockets {
		if left, err := k.taken.Came(ctx); err == nil && len(left) > 0 {
			s.say("not seen: calls that the kubelet began before, on %d of its connections to %s", len(left), k.path)
		}
	}
}

// isKubelet tells whether a process is the kubelet, or one that was started in
// its place. One that was named by its pid may have any name.
func (s *Session) isKubelet(pid int) bool {
	return pid == s.o.Kubelet.PID && s.o.Kubelet.Same() || kubelets.Is(pid)
}
