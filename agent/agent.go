package agent

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// Options are what an agent needs to know. The zero value of a limit means its
// default.
type Options struct {
	// Version is podstep's own version.
	Version string
	// KubeletVersion is the version of the kubelet that is watched; SetKubelet changes it.
	KubeletVersion string
	// Node is the node's name.
	Node string
	// InKubelet: the agent runs in the kubelet's own process. Only then does it find the lines of the steps' functions.
	InKubelet bool
	// Probes see the steps. The one that sees most comes first; calls that come by the hook count as its calls.
	Probes []probes.Abilities
	// LeftOut are the probes that were not started, each with the reason.
	LeftOut []LeftOut
	// Starting: the probes have not started yet. Each calls Probe.State when it runs.
	Starting bool
	// Lab: the node serves one person, and may stand still. Pods may then also be held where the catalogue's rule is
	// probes.HoldNode.
	Lab bool
	// ReadOnly: the agent only shows. It holds no pod and injects no fault, whoever asks.
	ReadOnly bool
	// Differs names the steps whose function differs from the one that the catalogue was read from. No pod is held in
	// such a function, nor in what it calls.
	Differs map[string]bool
	// Locking are the functions of this kubelet that take a lock, if it is of another version than the catalogue's. Then a
	// pod is held only on its worker's goroutine, and only while none of them is under way. Nil: people have read the locks.
	Locking []string
	// RecorderBytes bounds the flight recorder in memory.
	RecorderBytes int64
	// QueueEvents bounds the queue between the kubelet's goroutines and the
	// agent's own.
	QueueEvents int
	// PodSeen is called once, on the agent's goroutine, at the first event about
	// a pod, before any client is sent the event.
	PodSeen func()
}

const (
	defaultRecorderBytes = 48 << 20
	defaultQueueEvents   = 1 << 16
	// DefaultLease is how long a hold lives by itself.
	DefaultLease = 5 * time.Minute
	// DefaultNodeLease is the default lease of a hold during which the whole node stands still. The kubelet itself
	// bears five minutes of that. The starts, ends and readiness of the node's other pods bear less.
	DefaultNodeLease = 2 * time.Minute
	// DefaultWait is how long to wait for a pod to come to a step.
	DefaultWait = 2 * time.Minute
)

// Agent is one agent. It is a hook.Handler.
type Agent struct {
	opts    Options
	started time.Time
	steps   []stepInfo
	byName  map[string]int
	probes  []*Probe
	kubelet atomic.Pointer[string] // its version
	// renewing is held while SetAbilities changes what the probes can do.
	renewing sync.Mutex
	sights   sights
	closely  closely
	roles    roles
	worker   uint8  // the role of a pod's worker
	other    uint8  // the role of a goroutine of which nothing is known
	caller   *timer // the deadline that came with a call
	// debugger is the timer of a hold for which a debugger stops the whole kubelet.
	debugger *timer
	timers   []timer

	pods     pods.Table[podState]
	journal  *journal.Journal
	verdicts *journal.Verdicts
	points   *breakpoints.Table
	holds    *holding.Table[crossing]
	locking  *callsite.Locking // nil: people have read the locks of this kubelet
	// snapshotRate and logRate bound how often breakpoints act that keep stacks, or log.
	snapshotRate, logRate *rate.Limiter
	// logEntries has the values of the entries of calls whose exit a log wants. Only the journal's goroutine uses it.
	logEntries map[logCall]fieldBytes
	faults     struct{ fails, delays atomic.Uint64 }
	syncNow    atomic.Pointer[syncNow]          // nil: no kubelet has given one
	lines      func() map[string]callsite.Begin // found when somebody first asks
	spanIDs    atomic.Uint64
	// clock.read is when the wall clock was last read, in nanoseconds since the agent began. clock.offset is by how
	// much the wall clock was ahead of that.
	clock   struct{ read, offset atomic.Int64 }
	closed  chan struct{}
	closing sync.Once
	// record is what keeps events on a disk; nil: nothing is recorded. listing has one place, for who lists its segments.
	record  atomic.Pointer[Record]
	listing chan struct{}
}

// stepInfo is what the hot path needs of a step.
type stepInfo struct {
	*probes.Step
	role   uint8
	timers []*timer // that run while the step is held
	starts []*timer // that the step's function starts
	// shape of the values that woven code gives.
	enterPods, exitPods   int
	enterNames, exitNames []wire.Name
	hold                  [2]probes.HoldRule // by side, enter and exit: the catalogue's rule, or HoldNo where this agent forbids holds
	noHold                *agentpb.Problem   // why hold says no
	seers                 *seers             // the probes that see it
	differs               bool               // see Options.Differs
	late                  bool               // enter is published only if something comes of the call
	means                 probes.Role        // the step's role in the story, see probes.Story
	makes                 bool               // its call makes a sandbox or a container, whose id is the first result
	keeps                 bool               // the fields of its enter are needed after the enter event, whoever sees it
}

// sides of a step.
const (
	enter = breakpoints.Enter
	exit  = breakpoints.Exit
)

// New makes an agent and starts its goroutine. Close ends it.
func New(c *probes.Catalogue, opts Options) (*Agent, error) {
	if len(c.Steps) > hook.MaxSteps {
		return nil, fmt.Errorf("the catalogue has %d steps, the hook has switches for %d", len(c.Steps), hook.MaxSteps)
	}
	if opts.RecorderBytes == 0 {
		opts.RecorderBytes = defaultRecorderBytes
	}
	if opts.QueueEvents == 0 {
		opts.QueueEvents = defaultQueueEvents
	}
	if n := len(opts.Probes); n == 0 || n+len(opts.LeftOut) > maxProbes {
		return nil, fmt.Errorf("an agent has 1 to %d probes, and is to have %d", maxProbes, n)
	}
	a := &Agent{opts: opts, started: time.Now(), closed: make(chan struct{}), listing: make(chan struct{}, 1), byName: map[string]int{}}
	last := func() uint64 { return a.journal.Last() }
	a.holds = holding.NewTable[crossing](a.limits().holds, a.closed, last)
	a.points = breakpoints.NewTable(a.holds.Arm, last)
	a.snapshotRate, a.logRate = rate.NewLimiter(snapshotRate, snapshotBurst), rate.NewLimiter(logRate, logBurst)
	a.logEntries = map[logCall]fieldBytes{}
	a.SetKubelet(opts.KubeletVersion)
	a.addProbes()
	if err := a.loadTimers(c); err != nil {
		return nil, err
	}
	for i := range c.Steps {
		info := a.newStepInfo(c, &c.Steps[i])
		if info.differs = opts.Differs[info.Name]; info.differs {
			info.forbidHolds(problem(agentpb.Problem_FUNCTION_DIFFERS, args{"version": probes.KubernetesVersion}))
		}
		info.seers = newSeers(len(a.probes))
		a.byName[info.Name] = i
		a.steps = append(a.steps, info)
	}
	a.findSeers()
	for _, s := range c.OfRole(probes.RoleWorker) {
		a.locking = callsite.NewLocking(s.Symbol, opts.Locking)
	}
	a.worker, a.other = a.roles.index(roleWorker), a.roles.index(roleOther)
	a.lines = sync.OnceValue(a.stepLines)
	a.pods.Init()
	a.verdicts = journal.NewVerdicts(a.info(), c)
	a.pods.Added = func(p *pod) { p.State.journal.Pod, p.State.holding.Pod = &p.Pod, &p.Pod }
	a.pods.Forgotten = func(p *pod) { a.verdicts.Forget(&p.State.journal) }
	a.journal = journal.Start(journal.Options{
		QueueEvents: opts.QueueEvents, RecorderBytes: opts.RecorderBytes, Clock: a.now, Verdicts: a.verdicts,
		PodSeen: opts.PodSeen, Called: a.logCall, Forget: a.pods.ForgetOld,
	})
	return a, nil
}

func (a *Agent) newStepInfo(c *probes.Catalogue, s *probes.Step) stepInfo {
	info := stepInfo{Step: s, role: a.roles.index(s.Goroutine), means: s.Story.Role, makes: makes(s.Story.Role)}
	info.late = s.Quiet != "" || s.Idle || s.Pod.Exit
	info.enterNames, info.exitNames = values.Names(s.Fields), values.Names(s.Results)
	for i := range a.timers {
		t := &a.timers[i]
		if slices.Contains(s.Timers, t.name) {
			info.timers = append(info.timers, t)
		}
		if t.from == s.Name {
			info.starts = append(info.starts, t)
		}
	}
	info.keeps = info.late || readsFields[info.means] || len(info.starts) > 0
	n := 1
	switch s.Pod.Kind {
	case probes.PodInherit, probes.PodNone:
		n = 0
	case probes.PodUpdates:
		n = len(s.Pod.Updates)
	}
	if s.Pod.Exit {
		info.exitPods = n
	} else {
		info.enterPods = n
	}
	info.hold, info.noHold = [2]probes.HoldRule{s.Hold.Enter, s.Hold.Exit}, problem(agentpb.Problem_STEP_RULE, args{"step": s.Name})
	for side, rule := range info.hold {
		if rule == probes.HoldNode && !a.opts.Lab {
			info.hold[side] = probes.HoldNo
		}
	}
	return info
}

// forbidHolds forbids holds at the step, whatever the catalogue says.
func (s *stepInfo) forbidHolds(why *agentpb.Problem) {
	s.hold, s.noHold = [2]probes.HoldRule{probes.HoldNo, probes.HoldNo}, why
}

// Attach makes the agent the hook's handler and switches the steps on.
func (a *Agent) Attach() {
	hook.Set(a)
	for i := range a.steps {
		hook.Switch(i, a.steps[i].reach(0).sees())
	}
}

// Close lets every held pod go, takes the agent off the hook, and ends it. It may be called several times, by any
// goroutine: each call returns after the agent has ended.
func (a *Agent) Close() { a.closing.Do(a.close) }

func (a *Agent) close() {
	close(a.closed)
	a.points.Clear()
	a.releaseAll(agentpb.ReleaseAgentEnds)
	for i := range a.steps {
		hook.Switch(i, false)
	}
	hook.Set(nil)
	a.journal.Close()
}

// now returns the wall clock, in unix nanoseconds, and the nanoseconds since the agent began.
//
// To read both clocks costs nearly twice as much as to read one. So now reads the wall clock once in clockAge, and adds
// the time that has passed since.
func (a *Agent) now() (wall, mono int64) {
	mono = int64(time.Since(a.started))
	if read := a.clock.read.Load(); read != 0 && mono-read < int64(clockAge) {
		return mono + a.clock.offset.Load(), mono
	}
	t := time.Now()
	wall, mono = t.UnixNano(), int64(t.Sub(a.started))
	a.clock.offset.Store(wall - mono)
	a.clock.read.Store(mono)
	return wall, mono
}

// clockAge is how long a reading of the wall clock is reused. After somebody sets the clock, events have a wrong time
// for at most that long.
const clockAge = 10 * time.Millisecond

// roles numbers the kinds of goroutines.
type roles struct {
	names []string
}

func (r *roles) index(name string) uint8 {
	for i, n := range r.names {
		if n == name {
			return uint8(i)
		}
	}
	r.names = append(r.names, name)
	return uint8(len(r.names) - 1)
}
