package attach

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/reasons"
)

// API is the probe that follows the node's pods at the API server.
var API = Kind{
	Name: string(probes.ByAPI),
	Abilities: func(c *probes.Catalogue, _ *Target) probes.Abilities {
		return reporting(c, probes.ByAPI, func(s *probes.Step) bool { return s.Seen == probes.ByAPI })
	},
	New: func(t *Target) (Probe, error) {
		if t.reports.apiErr != nil {
			return nil, t.reports.apiErr
		}
		return t.reporter(probes.ByAPI, (*cluster.Cluster).RunAPI), nil
	},
}

// KubeletList is the probe that asks the kubelet for its list of pods. The list has the pods that the kubelet knows,
// and while the API server cannot be asked also the status that the kubelet is about to report there.
var KubeletList = Kind{
	Name: string(probes.ByKubelet),
	Abilities: func(c *probes.Catalogue, _ *Target) probes.Abilities {
		return reporting(c, probes.ByKubelet, func(s *probes.Step) bool {
			return s.Seen == probes.ByKubelet || s.Stage == stageReported && s.Name != stepEvent
		})
	},
	New: func(t *Target) (Probe, error) {
		if t.reports.kubeletErr != nil {
			return nil, t.reports.kubeletErr
		}
		return t.reporter(probes.ByKubelet, (*cluster.Cluster).RunKubelet), nil
	},
}

const (
	stageReported = "reported"
	// stepEvent reports an event object of the API server. The kubelet has no list of these.
	stepEvent = "reported.event"
	// stepGone is reported when a pod is gone from the API server.
	stepGone = "cluster.gone"
	// stepKnown is reported when a pod comes into the kubelet's list, and when it is gone from there.
	stepKnown = "cluster.kubelet"
)

// reporting returns the abilities of a probe that is sent reports of what has happened.
func reporting(c *probes.Catalogue, by probes.Witness, has func(*probes.Step) bool) probes.Abilities {
	out := probes.Abilities{Probe: string(by), Knows: probes.Knows{Reports: true}, Steps: map[string]probes.Ability{}}
	for i := range c.Steps {
		if s := &c.Steps[i]; has(s) {
			why := reasons.Reported.Reason()
			out.Steps[s.Name] = probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, NoHold: why, NoFail: why}
		}
	}
	return out
}

// reports has the ways to ask the API server and the kubelet for the node's pods. The probes that ask share a ledger,
// so that nothing is in a story twice.
type reports struct {
	api        *rest.Config
	apiErr     error // why the API server cannot be asked
	kubelet    *kubeport.Port
	kubeletErr error

	probes  map[probes.Witness]*reporter
	cluster func() (*cluster.Cluster, error)
}

// reporter is the probe that asks one of the sources.
type reporter struct {
	by     probes.Witness
	run    func(*cluster.Cluster, context.Context)
	target *Target
	began  time.Time
	host   *Host
	ended  chan struct{} // closed when run has ended
}

// reporter makes the probe of a source.
func (t *Target) reporter(by probes.Witness, run func(*cluster.Cluster, context.Context)) *reporter {
	r := &t.reports
	if r.probes == nil {
		r.probes = map[probes.Witness]*reporter{}
		r.cluster = sync.OnceValues(t.openCluster)
	}
	p := &reporter{by: by, run: run, target: t, began: time.Now(), ended: make(chan struct{})}
	r.probes[by] = p
	return p
}

// openCluster prepares the ledger for the probes in r.probes.
func (t *Target) openCluster() (*cluster.Cluster, error) {
	r := &t.reports
	o := cluster.Options{
		Node:   t.Kubelet.Node,
		Report: func(s cluster.Report) { r.probes[s.By].report(s) },
		Note:   t.note,
		State:  func(by probes.Witness, err error) { r.probes[by].host.Working(err) },
	}
	if r.probes[probes.ByAPI] != nil {
		o.API = r.api
	}
	if r.probes[probes.ByKubelet] != nil {
		o.Kubelet = r.kubelet
	}
	return cluster.New(o)
}

// Start begins to ask. The probe works from the first answer on.
func (p *reporter) Start(_ context.Context, h *Host) error {
	c, err := p.target.reports.cluster()
	if err != nil {
		return err
	}
	p.host = h
	if p.by == probes.ByAPI {
		h.Go(p.doubt)
	}
	h.Go(func() {
		defer close(p.ended)
		p.run(c, h.Context())
	})
	return nil
}

// stopWithin bounds the wait for requests under way. A program that gets credentials may hang, and cannot be ended.
// The kubelet does not depend on it.
const stopWithin = 2 * time.Second

// Stop waits at most stopWithin for requests under way.
func (p *reporter) Stop(ctx context.Context) error {
	if p.host == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
	return nil
}

// isLast reports whether a report is a source's last one of a pod. The other source may still have the pod.
func isLast(s *cluster.Report) bool {
	return s.Step == stepGone || s.Step == stepKnown && len(s.Values) > 0 && s.Values[0] == false
}

// report puts a report into the pod's story. What happened before podstep attached gets the time at which podstep
// learnt of it, since a story goes forward; the report's fields say since when it is so. Other times are those of the
// wall clock that the source has.
func (p *reporter) report(s cluster.Report) {
	at := clock.Stated(s.At)
	if at.Before(p.began) {
		at = time.Now()
	}
	p.host.Agent.Object(s.Pod)
	if specs := &p.target.specs; isLast(&s) {
		specs.forget(string(s.UID()))
	} else {
		specs.setSpec(string(s.UID()), s.Pod)
	}
	var err error
	if s.Err != "" {
		err = errors.New(s.Err)
	}
	p.host.Begin(agent.Seen{Step: s.Step, At: at, Values: append([]any{s.Pod}, s.Values...)}).End(at, err, []any{false})
}
