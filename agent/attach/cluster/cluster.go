package cluster

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes"
)

// Options state what to ask, and what to call with the reports.
type Options struct {
	// Node is the node's name, as the kubelet registered it.
	Node string
	// API is how to reach the API server; nil: there is none.
	API *rest.Config
	// Kubelet is how to reach the kubelet; nil: it cannot be asked.
	Kubelet *kubeport.Port
	// Report is called with each report, by one goroutine at a time; those of one pod come in order.
	Report func(Report)
	// Note is called when a person should know that a part of a source cannot be read, with the error, or that it can
	// be read again, with nil.
	Note func(text string, err error)
	// State is called when a source cannot be read, with the error, and when it can be read for the first time or
	// again, with nil.
	State func(by probes.Witness, err error)
}

// Report is one step that a source of the cluster reported.
type Report struct {
	// Step is its name in the catalogue.
	Step string
	// By is the source that reported it.
	By probes.Witness
	// At is when it happened: the time at which the source saw it, or, for steps before podstep attached, the time
	// that the object states, in whole seconds.
	At time.Time
	// Pod is the pod of the step: its names, its status, and parts of its spec, without those that may hold secrets.
	// Nobody may change it.
	Pod *v1.Pod
	// Values are those of the step's fields, in the catalogue's order; a field
	// without a value is nil. Texts that others wrote are Words.
	Values []any
	// Err is what went wrong, if the step reports a failure.
	Err string
}

// UID returns the uid under which the pod is known on the node. For a static pod, that is not the uid of its object.
func (s *Report) UID() types.UID { return uid(s.Pod) }

// Words is a text that others wrote: a message of an object. It is an error so that it is shown like one: without
// credentials that may be in it.
type Words string

func (w Words) Error() string { return string(w) }

// startWithin bounds how long the reports of the past wait for all sources. They wait so that they can be given in
// order.
const startWithin = 3 * time.Second

// Cluster follows what the cluster reports of a node's pods. The reports of all
// sources go through one ledger, so that none is given twice.
type Cluster struct {
	o       Options
	ledger  *ledger
	api     *kubeapi.Client
	clock   clock
	overdue *time.Timer // gives the past although a source is slow
}

// New prepares to follow. The caller must then run each source that o names.
func New(o Options) (*Cluster, error) {
	c := &Cluster{o: o, ledger: newLedger(o), clock: newClock()}
	sources := 0
	if o.API != nil {
		config := rest.CopyConfig(o.API)
		config.UserAgent = kubeapi.UserAgent("attach/" + o.Node)
		api, err := kubeapi.New(config)
		if err != nil {
			return nil, err
		}
		c.api = api
		sources += 2 // pods, events
	}
	if o.Kubelet != nil {
		sources++
	}
	c.ledger.await(sources)
	c.overdue = time.AfterFunc(startWithin, c.ledger.givePast)
	return c, nil
}

// RunAPI follows the API server, if there is one, until ctx ends. It tries again what fails, and never gives up by
// itself.
func (c *Cluster) RunAPI(ctx context.Context) {
	if c.api == nil {
		return
	}
	events := newEventWatch(c)
	stirs := func(p *v1.Pod, from source, gone bool) { events.stir(ctx, p, from, gone) }
	newPodWatch(c, stirs, func() {
		c.ledger.ready()
		events.started(ctx, c.ledger.ready)
	}).run(ctx)
	events.wait()
	// While nobody asks the API server, the kubelet's list counts.
	c.ledger.connected(false)
}

// RunKubelet follows the kubelet's list of its pods, if it can be asked, until
// ctx ends. It never gives up by itself.
func (c *Cluster) RunKubelet(ctx context.Context) {
	if c.o.Kubelet != nil {
		newPoll(c.o.Kubelet, c.ledger, c.o).run(ctx)
	}
}
