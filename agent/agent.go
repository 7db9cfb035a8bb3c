package agent

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/hook"
	"github.com/podstep/podstep/probes"
)

// Version is podstep's version.
const Version = "v0.1.0"

// Options are what an agent needs to know. The zero value of a limit means its
// default.
type Options struct {
	// Version is podstep's own version.
	Version string
	// KubeletVersion is the version of the kubelet that is watched.
	KubeletVersion string
	// Node is the node's name.
	Node string
	// Probe is what sees the steps, e.g. "woven".
	Probe string
	// Seen has the names of the steps that the probe can see.
	Seen map[string]bool
	// Unseen says of steps that are not seen why; the default is that they are
	// not woven into this kubelet.
	Unseen map[string]string
	// NoHold says of steps why this probe cannot hold a pod there, whatever the
	// catalogue says.
	NoHold map[string]string
	// Fails has the names of the steps that can be made to fail; nil: all.
	Fails map[string]bool
	// Lab: the node is there for one person, who may have it stand still. Pods
	// may then also be held where the catalogue's rule is probes.HoldNode.
	Lab bool
	// RecorderBytes bounds the flight recorder in memory.
	RecorderBytes int64
	// QueueEvents bounds the queue between the kubelet's goroutines and the
	// agent's own.
	QueueEvents int
}

const (
	defaultRecorderBytes = 48 << 20
	defaultQueueEvents   = 1 << 16
	// DefaultLease is how long a hold lives by itself.
	DefaultLease = 5 * time.Minute
	// DefaultNodeLease is DefaultLease for a hold during which the node stands
	// still. The kubelet itself bears five minutes of it; what the node's other
	// pods wait for (starts, ends, readiness) bears less.
	DefaultNodeLease = 2 * time.Minute
	// DefaultWait is how long to wait for a pod to come to a step.
	DefaultWait = 2 * time.Minute
	// defaultExpiry is how long a breakpoint lives.
	defaultExpiry = 30 * time.Minute
)

// Agent is one agent. It is a hook.Handler.
type Agent struct {
	opts    Options
	started time.Time
	steps   []stepInfo
	byName  map[string]int
	roles   roles
	worker  uint8 // the role of a pod's worker
	caller  timer // the deadline that came with a call

	pods    podTable
	journal *journal
	points  breakpoints
	holds   holdTable
	lines   func() map[string]place // found when somebody first asks
	spanIDs atomic.Uint64
	closed  chan struct{}
}

// stepInfo is what the hot path needs of a step.
type stepInfo struct {
	*probes.Step
	role   uint8
	timers []timer
	// shape of the values that woven code gives.
	enterPods, exitPods int
	hold                [2]probes.HoldRule // by side: enter, exit
	noHold              string             // why it is no
	late                bool               // enter is told only if something comes of the call
	life                life
}

// sides of a step.
const (
	enter = 0
	exit  = 1
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
	a := &Agent{opts: opts, started: time.Now(), closed: make(chan struct{}), byName: map[string]int{}}
	var err error
	if a.caller, err = newTimer(c.Timer(callerTimer)); err != nil {
		return nil, err
	}
	for i := range c.Steps {
		info, err := newStepInfo(c, &c.Steps[i], &a.roles, opts.Lab)
		if err != nil {
			return nil, err
		}
		if why, no := opts.NoHold[info.Name]; no {
			info.hold, info.noHold = [2]probes.HoldRule{probes.HoldNo, probes.HoldNo}, why
		}
		a.byName[info.Name] = i
		a.steps = append(a.steps, info)
	}
	a.worker = a.roles.index(roleWorker)
	a.lines = sync.OnceValue(a.stepLines)
	a.pods.init()
	a.holds.init()
	a.journal = newJournal(opts.QueueEvents, newRecorder(opts.RecorderBytes))
	go a.journal.run()
	return a, nil
}

func newStepInfo(c *probes.Catalogue, s *probes.Step, r *roles, lab bool) (stepInfo, error) {
	info := stepInfo{Step: s, role: r.index(s.Goroutine), life: lives[s.Name]}
	info.late = s.Quiet != "" || s.Idle || s.Pod.Exit
	for _, name := range s.Timers {
		t, err := newTimer(c.Timer(name))
		if err != nil {
			return info, err
		}
		info.timers = append(info.timers, t)
	}
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
	info.hold, info.noHold = [2]probes.HoldRule{s.Hold.Enter, s.Hold.Exit}, s.Hold.Why.En
	for side, rule := range info.hold {
		if rule == probes.HoldNode && !lab {
			info.hold[side] = probes.HoldNo
		}
	}
	return info, nil
}

// canHold tells whether a pod may be held at a side of the step at all.
func (s *stepInfo) canHold(side int) bool { return s.hold[side] != probes.HoldNo }

// Attach makes the agent the hook's handler and switches the steps on.
func (a *Agent) Attach() {
	hook.Set(a)
	for i := range a.steps {
		hook.Switch(i, a.opts.Seen[a.steps[i].Name])
	}
}

// Close lets every held pod go, takes the agent off the hook, and ends it.
func (a *Agent) Close() {
	select {
	case <-a.closed:
		return
	default:
	}
	close(a.closed)
	a.points.clear()
	a.releaseAll("the agent ends")
	for i := range a.steps {
		hook.Switch(i, false)
	}
	hook.Set(nil)
	a.journal.close()
}

// now is the wall clock and the time since the agent began, in nanoseconds.
func (a *Agent) now() (wall, mono int64) {
	t := time.Now()
	return t.UnixNano(), int64(t.Sub(a.started))
}

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
