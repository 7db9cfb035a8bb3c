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

// Options state what to ask, and who gets the reports.
type Options struct {
	// Node is the node's name, as the kubelet registered it.
	Node string
	// API is how to reach the API server; nil: there is none.
	API *rest.Config
	// Kubelet is how to reach the kubelet; nil: it cannot be asked.
	Kubelet *kubeport.Port
	// Report is called with each report, by one goroutine at a time and, for one
	// pod, in order. While it runs no other report is given.
	Report func(Report)
	// Note is called with what a person should know about the sources: that
	// something of one cannot be read and why, or that it can again; then err is
	// nil.
	Note func(text string, err error)
	// State is called when a source cannot be read, with the error, and when it can
	// again or for the first time, with nil.
	State func(by probes.Witness, err error)
}

// Report is one step that a source of the cluster reported.
type Report struct {
	// Step is its name in the catalogue.
	Step string
	// By is the source that reported it.
	By probes.Witness
	// At is when it happened: when the source saw it, or, for what had happened
	// before, the time that the object itself states, which is in whole seconds.
	At time.Time
	// Pod is whose step it is: its names, its status, and of its spec what decides
	// about it, without what may hold secrets. Nobody may change it.
	Pod *v1.Pod
	// Values are those of the step's fields, in the catalogue's order; a field
	// without a value is nil. Texts that others wrote are Words.
	Values []any
	// Err is what went wrong, if the step reports a failure.
	Err string
}

// UID is the uid under which the pod is known on the node; that of a static pod
// is not its object's.
func (s *Report) UID() types.UID { return uid(s.Pod) }

// Words is a text that others wrote: a message of an object. As an error it is
// shown like one, which is without credentials that may be in it.
type Words string

func (w Words) Error() string { return string(w) }

// startWithin bounds how long the reports of the past wait for all sources, so
// that they can be given in order.
const startWithin = 3 * time.Second

// Cluster follows what the cluster reports of a node's pods. The reports of all
// sources go through one ledger, so that none is given twice.
type Cluster struct {
	o       Options
	ledger  *ledger
	api     *kubeapi.Client
	clock   clock
	overdue *time.Timer // has the past given although a source is slow
}

// New prepares to follow. Each of the sources that o names is then to be run.
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
	c.overdue = time.AfterFunc(startWithin, c.ledger.begin)
	return c, nil
}

// RunAPI follows the API server, if there is one, until ctx ends. What cannot be
// asked is tried again; it never gives up by itself.
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
	// Until the API server is asked again the kubelet's list counts.
	c.ledger.connected(false)
}

// RunKubelet follows the kubelet's list of its pods, if it can be asked, until
// ctx ends. It never gives up by itself.
func (c *Cluster) RunKubelet(ctx context.Context) {
	if c.o.Kubelet != nil {
		newPoll(c.o.Kubelet, c.ledger, c.o).run(ctx)
	}
}
