package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/attach/metrics"
	"github.com/podstep/podstep/agent/attach/tokens"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/scrape"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
)

// Options state what to attach to, and with what.
type Options struct {
	Kubelet kubelets.Kubelet
	// Probes are the kinds of probes to host, the one that sees most first: a step that several see counts as seen by
	// the first.
	Probes []Kind
	// LeftOut are the kinds of probes that are not to be hosted, with the reason.
	LeftOut []LeftOut
	// Socket is the path of the agent's socket.
	Socket string
	// ReadOnly makes the agent hold no pod and inject no fault for anybody.
	ReadOnly bool
	// Kubeconfig is a file of the user's with credentials for the API server and the kubelet's /pods; empty: podstep
	// tries the usual files of a node.
	Kubeconfig string
	// WithoutToken, one of agentpb.Rights, is what clients of other machines may do without a token; empty: look. TokenNamespace
	// has the ServiceAccounts whose tokens count.
	WithoutToken, TokenNamespace string
	// Tier is the highest tier of the steps that the uprobe probe looks at; zero: 1.
	Tier int
	// AllowHolds lets the uprobe probe hold pods inside the kubelet.
	AllowHolds bool
	// Delve is the address of a headless Delve that debugs the kubelet, HOST:PORT; empty: the
	// delve probe attaches one of its own, if RiskKubelet allows it.
	Delve       string
	RiskKubelet bool
	// RaiseVerbosity is the -v to which the kubelet's is raised, for RaiseFor; 0: it is not.
	RaiseVerbosity int
	RaiseFor       time.Duration
	// Metrics is where to serve metrics, an address of scrape.Address; empty: nowhere.
	Metrics string
	// Record is the directory to which events are recorded; empty: they are not. Its files take at most Keep bytes, and
	// are kept for at most KeepFor, if that is not zero.
	Record  string
	Keep    int64
	KeepFor time.Duration
	// State is the directory of the state of takeovers; empty: the usual one.
	State string
	// Print is called with each line that a person may want to read, by one goroutine at a time.
	Print func(line string)

	guard []string // the command that starts the guard; nil: this program's
	relay []string // the same of the relay process
	hold  []string // and of the hold process
	debug []string // and of the debugger process
	// For the fields of Target with these names; 0: the defaults.
	unused, again time.Duration
	// next finds the kubelet that was started in place of one that has ended; nil: kubelets.Next.
	next func(context.Context, *kubelets.Kubelet) (kubelets.Kubelet, error)
}

// Session is an agent for a running kubelet, with the probes that see it.
type Session struct {
	o      Options
	target *Target
	agent  *agent.Agent
	server *server.Server
	hosts  []*Host
	scrape *scrape.Server // nil: nobody wants metrics
	past   *past.Recorder // nil: nothing is recorded
	tokens *tokens.Reviewer

	life      context.Context    // lasts until unfollow
	unfollow  context.CancelFunc // ends following
	following sync.WaitGroup     // of the goroutine that follows the kubelet, and of the one that checks the tokens

	printing sync.Mutex
	stop     sync.Once
	result   error
}

// Start attaches: it starts all probes at once, and returns when each sees or has
// failed. Those that fail are left out; the agent says so. If all do, or the agent
// cannot be served, it fails, and all is as before.
func Start(ctx context.Context, o Options) (*Session, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	s := &Session{o: o}
	if o.Metrics != "" {
		if s.scrape, err = scrape.Listen(o.Metrics); err != nil {
			return nil, err
		}
	}
	s.target = newTarget(ctx, &s.o)
	s.target.note = s.note
	if err := s.raise(ctx); err != nil {
		return nil, errors.Join(err, s.scrape.Stop(ctx))
	}
	if err := s.host(c); err != nil {
		return nil, errors.Join(err, s.putBack(ctx), s.scrape.Stop(ctx))
	}
	s.noteRaised()
	if err := s.startProbes(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	s.following.Go(func() { s.checkTokens(s.life) })
	return s, nil
}

// host starts the agent and serves its socket.
func (s *Session) host(c *probes.Catalogue) error {
	for _, k := range s.o.Probes {
		s.target.hosted = append(s.target.hosted, k.Name)
	}
	can := s.abilities(c)
	var leftOut []agent.LeftOut
	for i, l := range s.o.LeftOut {
		leftOut = append(leftOut, agent.LeftOut{Can: can[len(s.o.Probes)+i], Why: l.Why})
	}
	l, err := server.Listen(s.o.Socket)
	if err != nil {
		return err
	}
	s.agent, err = agent.New(c, agent.Options{
		Version: version.Own(), KubeletVersion: s.target.Kubelet.Version, Node: s.target.Kubelet.Node,
		Probes: can[:len(s.o.Probes)], LeftOut: leftOut, Starting: true, ReadOnly: s.o.ReadOnly,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := s.record(); err != nil {
		s.agent.Close()
		return errors.Join(err, l.Close())
	}
	s.target.found = func(k *kubelets.Kubelet) { s.agent.SetKubelet(k.Version) }
	s.server = agent.Serve(s.agent, l, s.access())
	s.life, s.unfollow = context.WithCancel(context.Background())
	if s.o.Kubelet.PID != 0 {
		s.following.Go(func() { s.target.follow(s.life) })
	}
	if s.scrape != nil {
		s.target.metrics = metrics.New(metrics.Source{Agent: s.agent, Since: time.Now()})
		s.scrape.Serve(s.target.metrics)
	}
	return nil
}

// abilities returns what all probes can do with the present kubelet; those that are left out come last.
func (s *Session) abilities(c *probes.Catalogue) (out []probes.Abilities) {
	for _, k := range s.o.Probes {
		out = append(out, k.Abilities(c, s.target))
	}
	for _, l := range s.o.LeftOut {
		out = append(out, l.abilities(c, s.target))
	}
	return out
}

// startProbes makes the probes and starts them, all at once. It fails if all of them fail.
func (s *Session) startProbes(ctx context.Context) error {
	errs := make([]error, len(s.o.Probes))
	for i, k := range s.o.Probes {
		h := s.newHost(ctx, k.Name)
		h.probe, errs[i] = k.New(s.target)
		s.hosts = append(s.hosts, h)
	}
	var wg sync.WaitGroup
	for i, h := range s.hosts {
		wg.Go(func() {
			if errs[i] == nil {
				errs[i] = h.start(ctx)
			}
			if errs[i] != nil {
				h.failedToStart(s.o.Probes[i], errs[i])
			}
		})
	}
	wg.Wait()
	some := slices.Contains(errs, nil)
	for i, h := range s.hosts {
		h.retryOrLeave(s.o.Probes[i], some, errs[i])
		if errs[i] != nil {
			errs[i] = fmt.Errorf("start the %s probe: %w", h.name, errs[i])
		}
	}
	if some {
		return nil
	}
	return errors.Join(errs...)
}

// newHost makes the host of a probe. Its context lives until the probe is stopped, also when ctx has ended.
func (s *Session) newHost(ctx context.Context, name string) *Host {
	h := &Host{Probe: s.agent.Probe(name), Agent: s.agent, name: name, session: s}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Stop detaches: pods that are held go on, and the probes end, all at once. A probe that waits for calls under way
// stops waiting when ctx ends.
func (s *Session) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.result = s.detach(ctx) })
	return s.result
}

func (s *Session) detach(ctx context.Context) error {
	back := s.putBack(ctx)
	s.agent.Close()
	s.server.Stop()
	s.endRecord(ctx)
	errs := make([]error, len(s.hosts), len(s.hosts)+1)
	var wg sync.WaitGroup
	for i, h := range s.hosts {
		wg.Go(func() { errs[i] = h.stop(ctx) })
	}
	wg.Wait()
	s.unfollow()
	s.following.Wait()
	return errors.Join(append(errs, back, s.target.owed.pay(ctx), s.scrape.Stop(ctx))...)
}

// note writes to the person at the terminal, and puts the text into the node's story.
func (s *Session) note(text string, err error) {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	if s.agent != nil {
		s.agent.Note(text)
	}
	s.printf("%s", text)
}

func (s *Session) printf(format string, args ...any) {
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.o.Print != nil {
		s.o.Print(redact.Text(fmt.Sprintf(format, args...)))
	}
}
