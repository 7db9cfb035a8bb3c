//go:build linux

package uprobe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// Probe sees the steps of one kubelet.
type Probe struct {
	// Watched reports whether anybody waits for calls as they happen; nil: somebody does. It is set before Start.
	Watched func() bool

	pid   int
	plan  *plan
	table *memory.Table
	// version is the kubelet's Kubernetes version.
	version string
	build   build
	errors  *errorTypes
	// starters are the addresses of functions with which the goroutines of pods' workers begin.
	starters []uint64
	bias     uint64 // what is added to addresses as they were linked
	forms    []bool // the forms of the program to try; nil: those that the kernel may have

	kernel *kernel
	closer []link.Link // to the places at which the program runs while the probe looks closely; nil: it does not
	done   sync.WaitGroup
	ending atomic.Pointer[error] // why the calls under way are to end; nil: they go on
	away   atomic.Bool           // the probe has ended to look closely; the reader of the records does not know it yet
	read   chan struct{}         // closed when no more records are read
	idle   time.Duration         // how often records are read while nobody watches
	mu     sync.Mutex
	caught chan struct{} // closed when all records so far are read, and made anew; guarded by mu
}

// New reads the program of a kubelet's process, and plans what to look at: the steps of a tier and of lower tiers all the time,
// and the others while the probe looks closely. It changes nothing. version is the kubelet's Kubernetes version.
func New(c *probes.Catalogue, pid int, version string, tier int) (*Probe, error) {
	return open(c, fmt.Sprintf("/proc/%d/exe", pid), pid, version, tier)
}

// Read is New for a program that need not run, to find out whether podstep could look into it. The probe cannot be
// started.
func Read(c *probes.Catalogue, exe, version string, tier int) (*Probe, error) {
	return open(c, exe, 0, version, tier)
}

// open makes the probe of a process. pid is 0 if there is no process.
func open(c *probes.Catalogue, exe string, pid int, version string, tier int) (*Probe, error) {
	program, err := openProgram(exe)
	if err != nil {
		return nil, err
	}
	defer program.close()
	if version == "" {
		version = program.KubernetesVersion
	}
	table, err := memory.Nearest(version)
	if err != nil {
		return nil, err
	}
	table, build := program.proven(c, table, version)
	plan, err := newPlan(c, program, table, tier)
	if err != nil {
		return nil, err
	}
	p, err := newProbe(program, plan, table, pid)
	if err != nil {
		return nil, err
	}
	p.version, p.build = version, build
	return p, nil
}

func newProbe(program *program, plan *plan, table *memory.Table, pid int) (p *Probe, err error) {
	p = &Probe{pid: pid, plan: plan, table: table, errors: newErrorTypes(program, table), idle: idleEvery, caught: make(chan struct{})}
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

// NoHold returns why no goroutine of this kubelet may be held, whoever allows it; none if nothing speaks against it. With
// the table of another minor version it is not known which of its functions take a lock.
func (p *Probe) NoHold() (why probes.Reason) {
	if p.table.Near {
		why = reasons.NoTable.With("version", p.table.Version)
	}
	return why
}

// Abilities returns what the probe can do at the catalogue's steps.
func (p *Probe) Abilities(c *probes.Catalogue, holds Holds) probes.Abilities {
	out := abilities(reasons.NotFunction.Reason())
	for name, why := range p.plan.unseen {
		out.Steps[name] = probes.Ability{Unseen: why}
	}
	if holds.Cannot.IsZero() {
		holds.Cannot = p.NoHold()
	}
	within := NewWithin(c, p.Functions)
	for _, s := range p.plan.steps {
		can := probes.Ability{Entry: true, Exit: true, Closely: s.closely, Arguments: true, Results: true, Missing: s.missing, NoFail: reasons.NoFaults.Reason()}
		holds.decide(s.Step, len(within.At(s.Step)) > 0, &can)
		if can.HoldEnter && s.Story.Role == probes.RoleWorker && p.plan.namelessWorkers() {
			can.HoldEnter, can.NoHold = false, reasons.Nameless.Reason()
		}
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

// turn returns the step of a worker's turn if it has to be made from other calls; otherwise nil.
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

// Start starts the probe. h gets the calls that begin from now on, until Stop.
func (p *Probe) Start(c *probes.Catalogue, h Handler) (err error) {
	if p.pid == 0 {
		return errors.New("look into the kubelet: it does not run")
	}
	if p.forms == nil {
		p.forms = forms()
	}
	p.kernel, err = openKernel(p.forms, func(multi bool) (*kernel, error) { return openForm(p.plan, p.errors.wraps(), multi) })
	if err != nil {
		return here().explain(err)
	}
	if err = p.lookAlways(); err != nil {
		return errors.Join(here().explain(err), p.kernel.close())
	}
	cs := newCalls(p, c, h)
	cs.lost = func() uint64 { return p.kernel.count(countLost) }
	read := make(chan struct{})
	p.read = read
	p.done.Go(func() {
		defer close(read)
		p.readAll(cs)
	})
	return nil
}

// workers returns the starters, by their addresses in the process.
func (p *Probe) workers() map[uint64]bool {
	out := map[uint64]bool{}
	for _, at := range p.starters {
		out[at+p.bias] = true
	}
	return out
}

// workerStarter is the function that starts the goroutine of a pod's worker.
const workerStarter = "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"

// readEvery is how often the ring is read while somebody watches, and idleEvery, while nobody does: each time costs more
// than the records of some calls. The program in the kernel wakes the reader when a call is to be held, and when the ring
// fills.
const (
	readEvery = 10 * time.Millisecond
	idleEvery = 200 * time.Millisecond
)

func (p *Probe) every() time.Duration {
	if p.Watched == nil || p.Watched() {
		return readEvery
	}
	return p.idle
}

// readAll reads records until the probe is stopped, or End is called.
func (p *Probe) readAll(c *calls) {
	var raw ringbuf.Record
	for {
		if raw.Remaining == 0 {
			p.kernel.events.SetDeadline(time.Now().Add(p.every()))
		}
		switch err := p.kernel.events.ReadInto(&raw); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if why := p.ending.Load(); why != nil {
				c.endAll(*why, time.Now())
				return
			}
			continue
		case errors.Is(err, ringbuf.ErrFlushed):
			if p.away.Swap(false) {
				c.lookAway(time.Now())
			}
			p.wakeBehind()
			continue
		case err != nil:
			return
		}
		if r := recordOf(raw.RawSample); r != nil {
			c.addRecord(r)
		}
		if raw.Remaining == 0 {
			c.losses()
		}
	}
}

// ReadNow returns when the handler has got the calls that there are so far, when ctx ends, or when the probe is stopped.
func (p *Probe) ReadNow(ctx context.Context) {
	p.mu.Lock()
	caught := p.caught
	p.mu.Unlock()
	if err := p.kernel.events.Flush(); err != nil {
		return
	}
	select {
	case <-caught:
	case <-ctx.Done():
	case <-p.read:
	}
}

// wakeBehind wakes those that wait in ReadNow.
func (p *Probe) wakeBehind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.caught)
	p.caught = make(chan struct{})
}

// End ends the calls under way with this error: the process has ended. The handler gets what there is to read still,
// then the ends, and then nothing more. Stop is called afterwards.
func (p *Probe) End(why error) {
	if p.kernel == nil {
		return
	}
	p.ending.Store(&why)
	<-p.read
}

// Stop stops the probe. Nothing of it is left in the kernel.
func (p *Probe) Stop() error {
	if p.kernel == nil {
		return nil
	}
	err := errors.Join(closeLinks(p.closer), p.kernel.close())
	p.closer = nil
	p.done.Wait()
	return err
}

// Steps returns how many of the catalogue's steps the probe sees.
func (p *Probe) Steps(c *probes.Catalogue) (n int) {
	for _, can := range p.Abilities(c, Holds{}).Steps {
		if can.Sees() {
			n++
		}
	}
	return n
}
