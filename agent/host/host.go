// Package host puts the agent into the process of a woven kubelet: it checks
// what was woven against the catalogue, starts the agent and serves its socket.
package host

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// ErrNotWoven is returned for a program without the hook in it: it would never show anything.
var ErrNotWoven = errors.New("this program was built without weaving, so podstep would see nothing; build it with `podstep-weave go build`, or `make build`")

// Options describe the kubelet in this process, and its agent.
type Options struct {
	// KubeletVersion is the version of the kubelet in this process.
	KubeletVersion string
	// Node is the name the kubelet will give its node.
	Node string
	// Lab: the node serves one person.
	Lab bool
	// ReadOnly: the agent only shows.
	ReadOnly bool
	// Socket is the path of the unix socket to serve.
	Socket string
	// Form is the form of lists of the kubelet's own values; nil: they are not shown.
	Form values.Form
	// Warn is told what keeps the agent, but not the kubelet, from working.
	Warn func(format string, args ...any)
}

// Steps state what the weaver left in this program, by the names of steps.
type Steps struct {
	// Catalogue is the catalogue for this kubelet: with the names of its version, and without what does not fit it.
	Catalogue *probes.Catalogue
	// Version is the version of Kubernetes for which the program was woven. Empty: the catalogue's own.
	Version string
	// Seen are the steps that can be seen.
	Seen map[string]bool
	// Fails has, for each of them, whether it can be made to fail.
	Fails map[string]bool
	// Differs has, for each of them, whether its function differs from the one that the catalogue was read from. Nobody
	// knows which locks are held there. If Locking is known, it has whether the function takes a lock.
	Differs map[string]bool
	// Locking are the functions that take a lock, by the source of another version.
	Locking []string
	// Misfits are what does not fit another version.
	Misfits []hook.Misfit
}

// Woven checks what the weaver left in this program against the catalogue.
func Woven(c *probes.Catalogue) (*Steps, error) {
	packages, err := hook.Woven()
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, ErrNotWoven
	}
	out := &Steps{Catalogue: c, Seen: map[string]bool{}, Fails: map[string]bool{}, Differs: map[string]bool{}}
	if out.Version = packages[0].Kubernetes; out.Version != "" {
		out.Catalogue = c.In(out.Version)
	}
	for _, p := range packages {
		if p.Hash != out.Catalogue.PackageHash(p.Path) || p.Kubernetes != out.Version {
			return nil, fmt.Errorf("package %s was woven with another catalogue than this program has; build it again with `make build`", p.Path)
		}
		for name, s := range p.Steps {
			out.Seen[name], out.Fails[name] = true, s.Fails
			out.Differs[name] = s.Sum != c.Step(name).Sum
		}
		out.Misfits = append(out.Misfits, p.Misfits...)
	}
	out.Catalogue = out.Catalogue.Without(hook.PartsOf(out.Misfits))
	out.readLocks()
	return out, nil
}

// readLocks reads which functions of another version take a lock. Without a table of that version nobody knows, and no pod is
// held in a function that differs.
func (s *Steps) readLocks() {
	if s.Version == "" {
		return
	}
	table, err := memory.For(s.Version)
	if err != nil {
		return
	}
	s.Locking = table.Locks()
	for name := range s.Differs {
		s.Differs[name] = slices.Contains(s.Locking, s.Catalogue.Step(name).Symbol)
	}
}

// abilities returns the abilities of the hook in this program.
func (s *Steps) abilities() probes.Abilities {
	out := probes.Abilities{
		Probe: "woven", Knows: probes.Knows{Turns: true, Nesting: true, Workers: true},
		Steps: map[string]probes.Ability{}, NotSeen: reasons.NotWoven.Reason(),
	}
	unseen, missing := s.misfits()
	for i := range s.Catalogue.Steps {
		step := &s.Catalogue.Steps[i]
		name := step.Name
		switch {
		case step.Outside():
			out.Steps[name] = probes.Ability{Unseen: reasons.NoFunction.Reason()}
		case !s.Seen[name] && s.Version != "":
			why, known := unseen[name]
			if !known {
				why = reasons.NotInVersion.With("version", s.Version, "function", step.Symbol)
			}
			out.Steps[name] = probes.Ability{Unseen: why}
		}
		if !s.Seen[name] {
			continue
		}
		can := probes.Everything()
		if can.Fail = s.Fails[name]; !can.Fail {
			can.NoFail = reasons.NoError.Reason()
		}
		if s.Differs[name] {
			can.NoHold = reasons.Differs.With("version", probes.KubernetesVersion)
		}
		if s.Locking != nil && offWorker(step) {
			can.HoldEnter, can.HoldExit, can.NoHold = false, false, reasons.WorkerOnly.With("version", s.Version)
		}
		can.Missing = missing[name]
		out.Steps[name] = can
	}
	return out
}

// offWorker reports whether pods are held at the step on another goroutine than their worker's.
func offWorker(s *probes.Step) bool {
	return s.Goroutine == "kill" || s.Hold.Enter == probes.HoldOwn || s.Hold.Exit == probes.HoldOwn
}

// misfits returns the reasons why steps are not seen in this version, and the names of the fields that others lack.
func (s *Steps) misfits() (unseen map[string]probes.Reason, missing map[string][]string) {
	unseen, missing = map[string]probes.Reason{}, map[string][]string{}
	for _, m := range s.Misfits {
		switch {
		case m.Part == probes.PartFunction:
			unseen[m.Step] = reasons.NotInVersion.With("version", s.Version, "function", s.Catalogue.Step(m.Step).Symbol)
		case probes.NeedsPart(m.Part):
			unseen[m.Step] = reasons.Misfit.With("version", s.Version, "part", m.Part, "error", m.Why)
		default:
			if _, field, ok := strings.Cut(m.Part, "."); ok {
				missing[m.Step] = append(missing[m.Step], field)
			}
		}
	}
	return unseen, missing
}

// Start starts the agent and returns the function that ends it. If the agent cannot start, the node still gets its
// kubelet: Warn is told the reason. Start returns an error for a program that was not woven, or not with this
// catalogue.
func Start(o Options) (stop func(), err error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	woven, err := Woven(c)
	if err != nil {
		return nil, err
	}
	if err := hook.SelfTest(); err != nil {
		o.Warn("runs without its agent: %v", err)
		return func() {}, nil
	}
	var a *agent.Agent
	a, err = agent.New(woven.Catalogue, agent.Options{
		Version: version.Own(), KubeletVersion: o.KubeletVersion, Node: o.Node, InKubelet: true,
		Probes: []probes.Abilities{woven.abilities()}, Differs: woven.Differs, Locking: woven.Locking, Lab: o.Lab, ReadOnly: o.ReadOnly,
		PodSeen: func() { releaseOnSignal(a) },
	})
	if err != nil {
		o.Warn("runs without its agent: %v", err)
		return func() {}, nil
	}
	stop = a.Close
	if l, err := server.Listen(o.Socket); err != nil {
		o.Warn("nobody can connect: %v", err)
	} else {
		srv := agent.Serve(a, l, server.Access{Without: server.Look})
		stop = func() { a.Close(); srv.Stop() }
	}
	values.SetForm(o.Form)
	a.Attach()
	return stop, nil
}

// releaseOnSignal lets held pods go as soon as a signal ends the kubelet, because the kubelet then waits for some of
// its work.
//
// It is called when the kubelet has its first pod. By then the kubelet has its own handler for these signals, and no
// pod was held before. If the agent had a handler earlier, a signal that comes before the kubelet's handler would end
// nothing: the agent would take it, and the kubelet would go on starting.
func releaseOnSignal(a *agent.Agent) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT)
	hook.Go(func() {
		<-ch
		signal.Stop(ch)
		a.Close()
	})
}
