//go:build linux

package uprobe

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// Probe sees the steps of one kubelet.
type Probe struct {
	pid    int
	plan   *plan
	table  *memory.Table
	errors *errorTypes
	// starters are the addresses of functions with which goroutines of pods' workers begin.
	starters []uint64
	bias     uint64 // what is added to addresses as they were linked
	single   bool   // one link a place, as older kernels have it

	kernel *kernel
	clock  clock
	done   sync.WaitGroup

	each, ownHits atomic.Int64 // see Cost
}

// New reads the program of a kubelet's process and plans what to look at: the steps of a
// tier, and of lower ones. It changes nothing. Version is the kubelet's Kubernetes version.
func New(c *probes.Catalogue, pid int, version string, tier int) (*Probe, error) {
	return open(c, fmt.Sprintf("/proc/%d/exe", pid), pid, version, tier)
}

// Read is New of a program that need not run, such as for finding out whether it could be
// looked into. It cannot be started.
func Read(c *probes.Catalogue, exe, version string, tier int) (*Probe, error) {
	return open(c, exe, 0, version, tier)
}

// open makes the probe for a process, 0 for none.
func open(c *probes.Catalogue, exe string, pid int, version string, tier int) (*Probe, error) {
	program, err := openProgram(exe)
	if err != nil {
		return nil, err
	}
	defer program.close()
	if program.Arch != "amd64" {
		return nil, fmt.Errorf("the kubelet is of %s, and only amd64 is known here", program.Arch)
	}
	if version == "" {
		version = program.KubernetesVersion
	}
	table, err := memory.For(version)
	if err != nil {
		return nil, err
	}
	plan, err := newPlan(c, program, table, tier)
	if err != nil {
		return nil, err
	}
	return newProbe(program, plan, table, pid)
}

func newProbe(program *program, plan *plan, table *memory.Table, pid int) (p *Probe, err error) {
	p = &Probe{pid: pid, plan: plan, table: table, errors: newErrorTypes(program, table)}
	for _, f := range program.Within(workerStarter) {
		p.starters = append(p.starters, f.Entry)
	}
	if pid != 0 {
		if p.bias, err = program.bias(pid); err != nil {
			return nil, err
		}
	}
	p.errors.bias = p.bias
	return p, nil
}

// Abilities are what such a probe can do at the catalogue's steps.
func (p *Probe) Abilities(c *probes.Catalogue, holds Holds) probes.Abilities {
	out := abilities(reasons.NotFunction.Reason())
	for name, why := range p.plan.unseen {
		out.Steps[name] = probes.Ability{Unseen: why}
	}
	for _, s := range p.plan.steps {
		can := probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, Missing: s.missing, NoFail: reasons.NoFaults.Reason()}
		holds.at(s.Step, &can)
		out.Steps[s.Name] = can
	}
	if turn := p.turn(c); turn != nil {
		no := reasons.OnlySees.Reason()
		out.Steps[turn.Name] = probes.Ability{
			Entry: true, Exit: true, Arguments: true, Results: true, Missing: names(turn.Results), NoHold: no, NoFail: no,
		}
	}
	return out
}

func names(fields []probes.Field) (out []string) {
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}

// turn is the step of a worker's turn if it has to be made of others.
func (p *Probe) turn(c *probes.Catalogue) *probes.Step {
	has := func(role probes.Role) bool {
		for _, s := range p.plan.steps {
			if s.Story.Role == role {
				return true
			}
		}
		return false
	}
	if has(probes.RoleTurn) || !has(probes.RoleBegin) || !has(probes.RoleComplete) {
		return nil
	}
	for i := range c.Steps {
		if c.Steps[i].Story.Role == probes.RoleTurn {
			return &c.Steps[i]
		}
	}
	return nil
}

// Start begins to see: h gets the calls that begin from now on, until Stop.
func (p *Probe) Start(c *probes.Catalogue, h Handler) (err error) {
	if p.pid == 0 {
		return errors.New("look into the kubelet: it does not run")
	}
	if p.kernel, err = load(p.single); err != nil {
		return here().explain(err)
	}
	err = p.kernel.fill(p.plan, p.errors.wraps())
	if err == nil {
		p.kernel.links, err = p.kernel.attach(p.pid, fmt.Sprintf("/proc/%d/exe", p.pid), p.offsets(), 0)
	}
	if err != nil {
		return errors.Join(here().explain(err), p.kernel.close())
	}
	p.clock = now()
	cs := newCalls(p, c, h)
	cs.lost = func() uint64 { return p.kernel.count(countLost) }
	p.done.Go(func() { p.read(cs) })
	p.done.Go(func() { _ = p.measure() }) // without it, only the hits are known
	return nil
}

// offsets are where in the program's file the places are, in the order of their numbers.
func (p *Probe) offsets() (out []uint64) {
	for _, at := range p.plan.places {
		out = append(out, at.offset)
	}
	for _, at := range p.plan.starts {
		out = append(out, at.offset)
	}
	return out
}

// now is what the kernel's clock and ours have at the same time.
func now() clock {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return clock{time.Now(), uint64(ts.Nano())}
}

// workers are the starters, by their addresses in the process.
func (p *Probe) workers() map[uint64]bool {
	out := map[uint64]bool{}
	for _, at := range p.starters {
		out[at+p.bias] = true
	}
	return out
}

// workerStarter is the function in which the goroutine of a pod's worker is started.
const workerStarter = "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"

// readEvery is how often the ring is looked at. It has room for much more than comes meanwhile.
const readEvery = 10 * time.Millisecond

// read reads records until the probe is stopped.
func (p *Probe) read(c *calls) {
	var raw ringbuf.Record
	for {
		if raw.Remaining == 0 {
			p.kernel.events.SetDeadline(time.Now().Add(readEvery))
		}
		switch err := p.kernel.events.ReadInto(&raw); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return
		}
		if r := recordOf(raw.RawSample); r != nil {
			c.take(r)
		}
		if raw.Remaining == 0 {
			c.losses()
		}
	}
}

// Stop ends the probe: nothing of it is left in the kernel.
func (p *Probe) Stop() error {
	if p.kernel == nil {
		return nil
	}
	err := p.kernel.close()
	p.done.Wait()
	return err
}

// Steps is how many steps are looked at.
func (p *Probe) Steps() int { return len(p.plan.steps) }
