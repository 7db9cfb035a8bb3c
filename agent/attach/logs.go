package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
)

// Logs is the probe that follows what the kubelet and its runtime log.
var Logs = Kind{Name: logstory.Probe, OnRequest: true, Abilities: logAbilities, New: newLogs}

// nodeLogs are the logs of a node, as far as they can be read.
type nodeLogs struct {
	kubelet, runtime       *nodelog.Log
	kubeletErr, runtimeErr error
}

// lookAtLogsWithin bounds the search for the logs.
const lookAtLogsWithin = 5 * time.Second

// findLogs finds the logs of the kubelet's present process and of its runtime.
func findLogs(ctx context.Context, t *Target) *nodeLogs {
	ctx, cancel := context.WithTimeout(ctx, lookAtLogsWithin)
	defer cancel()
	k, out := t.current(), &nodeLogs{}
	out.kubelet, out.kubeletErr = nodelog.Of(ctx, k.PID)
	out.runtime, out.runtimeErr = nodelog.OfRuntime(ctx, k)
	return out
}

// logAbilities returns what the logs show, by what was written at the end of them.
func logAbilities(c *probes.Catalogue, t *Target) probes.Abilities {
	logs := findLogs(context.Background(), t)
	var ends []logstory.End
	for _, l := range []*nodelog.Log{logs.kubelet, logs.runtime} {
		if l == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookAtLogsWithin)
		text, _ := l.End(ctx, time.Minute) // nothing was written: the flags say what will be
		cancel()
		ends = append(ends, logstory.End{Text: text, Runtime: l == logs.runtime, Zone: l.Zone})
	}
	out := logstory.Abilities(c, t.verbosity(), ends...)
	out.NotSeen = reasons.NotLogged.Reason()
	for i := range c.Steps {
		if t.seenBetter(&c.Steps[i]) {
			delete(out.Steps, c.Steps[i].Name)
		}
	}
	out.Knows.Reports = out.Knows.Reports && !t.hosts(string(probes.ByAPI))
	return out
}

// seenBetter reports whether another probe sees what the log has of a step, in a form in which podstep cannot find out
// that the two have seen the same: reports of the API server, and calls that are about several pods.
func (t *Target) seenBetter(s *probes.Step) bool {
	switch s.Pod.Kind {
	case probes.PodList, probes.PodObjects, probes.PodUpdates:
		return t.hosts(uprobe.Name) || t.hosts(delve.Name)
	}
	return s.Report() && t.hosts(string(probes.ByAPI)) && t.reports.apiErr == nil
}

// hosts reports whether there is a probe of that name.
func (t *Target) hosts(name string) bool { return slices.Contains(t.hosted, name) }

// verbosity returns the kubelet's -v, as its flags have it, or as podstep has raised it.
func (t *Target) verbosity() int {
	v, _ := strconv.Atoi(t.current().Flags["v"])
	return max(v, t.raising.verbosity())
}

// logs publishes the calls that logs show as events of the agent.
type logs struct {
	target *Target
	found  *nodeLogs
	host   *Host

	mu   sync.Mutex
	live *logstory.Live
	ran  sync.WaitGroup
}

func newLogs(t *Target) (Probe, error) {
	p, err := newFollowing(logstory.Probe, t, makeLogs)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// makeLogs prepares the part of the probe that follows the logs of one process of the kubelet.
func makeLogs(t *Target) (processProbe, error) {
	found := findLogs(context.Background(), t)
	if found.kubelet == nil && found.runtime == nil {
		return nil, errors.Join(fmt.Errorf("find the kubelet's log: %w", found.kubeletErr), fmt.Errorf("find the runtime's log: %w", found.runtimeErr))
	}
	return &logs{target: t, found: found}, nil
}

// logTurn is how often the probe looks which entries have waited long enough.
const logTurn = 100 * time.Millisecond

// Start begins to follow the logs.
func (p *logs) Start(_ context.Context, h *Host) error {
	p.host = h
	p.live = logstory.NewLive(time.Now(), p.target.verbosity(), (*knownPods)(p), (*logCalls)(p))
	p.target.raising.onVerbosity(func(v int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.live.SetVerbosity(v)
	})
	p.follow("kubelet", p.found.kubelet, p.found.kubeletErr)
	p.follow("runtime", p.found.runtime, p.found.runtimeErr)
	p.ran.Add(1)
	h.Go(func() {
		defer p.ran.Done()
		p.turn()
	})
	h.Working(nil)
	return nil
}

// Stop ends that.
func (p *logs) Stop(context.Context) error {
	p.ran.Wait()
	return nil
}

// gone ends the calls under way.
func (p *logs) gone(error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live.Gone(time.Now())
}

// turn hands over the calls of the entries that have waited long enough, until the probe is to stop.
func (p *logs) turn() {
	tick := time.NewTicker(logTurn)
	defer tick.Stop()
	for {
		select {
		case <-p.host.Context().Done():
			return
		case now := <-tick.C:
			p.mu.Lock()
			p.live.Turn(now)
			p.mu.Unlock()
		}
	}
}

// follow follows a log, and begins again if that ends.
func (p *logs) follow(name string, l *nodelog.Log, err error) {
	if l == nil {
		p.host.Note(fmt.Sprintf("the log probe cannot read the %s's log", name), err)
		return
	}
	p.ran.Add(1)
	p.host.Go(func() {
		defer p.ran.Done()
		for wait := restartSoon; ; wait = min(2*wait, restartLate) {
			err := l.Follow(p.host.Context(), func(line string) { p.add(name, line, l.Zone) })
			if p.host.Context().Err() != nil {
				return
			}
			if errors.Is(err, nodelog.ErrEnded) && name == "kubelet" {
				return // the next one gets a probe of its own
			}
			p.host.Note(fmt.Sprintf("the log probe cannot read the %s's log now, and tries again", name), err)
			select {
			case <-p.host.Context().Done():
				return
			case <-time.After(wait):
			}
			if next, err := nodelog.OfRuntime(p.host.Context(), p.target.current()); err == nil && name == "runtime" && errors.Is(err, nodelog.ErrEnded) {
				l = next
			}
		}
	})
}

func (p *logs) add(log, line string, zone *time.Location) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live.Add(log, line, zone, time.Now())
}

// logCalls publishes calls.
type logCalls logs

// Begin publishes that a call has begun.
func (p *logCalls) Begin(c *logstory.Call, at time.Time, fields []wire.Field) {
	c.State = p.host.BeginStated(p.stated(c, at, fields))
}

// stated returns a call as the agent takes it.
func (p *logCalls) stated(c *logstory.Call, at time.Time, fields []wire.Field) agent.Stated {
	out := agent.Stated{Step: c.Step.Name, At: clock.Stated(at), Pod: c.Pod, Fields: fields}
	if c.Parent != nil {
		out.Parent, _ = c.Parent.State.(*agent.Call)
	}
	return out
}

// End publishes that a call has ended.
func (p *logCalls) End(c *logstory.Call, at time.Time, results []wire.Field, err string) {
	call, begun := c.State.(*agent.Call)
	if !begun {
		seen := p.stated(c, at, nil)
		seen.BeginUnseen = true
		call = p.host.BeginStated(seen)
	}
	call.EndStated(clock.Stated(at), err, results)
}

// knownPods is what other probes have learnt of pods.
type knownPods logs

// Owner returns the pod of a sandbox or container.
func (p *knownPods) Owner(id string) (of probes.PodRef) {
	uid := string(p.host.Agent.Owner(id))
	if namespace, name, known := p.target.specs.named(uid); known {
		of = probes.PodRef{UID: uid, Namespace: namespace, Name: name}
	}
	return of
}

// UID returns the UID of the pod that has a name.
func (p *knownPods) UID(name string) string { return p.target.specs.uidOf(name) }
