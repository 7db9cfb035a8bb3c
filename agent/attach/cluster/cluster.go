package cluster

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Options say what to ask, and whom to tell.
type Options struct {
	// Node is the node's name, as the kubelet registered it.
	Node string
	// API is how to reach the API server; nil: there is none.
	API *rest.Config
	// Kubelet is how to reach the kubelet; nil: it cannot be asked.
	Kubelet *KubeletPods
	// Told is called with all that is said, by one goroutine at a time and, for
	// one pod, in order. While it runs nothing else is told.
	Told func(Said)
	// Note is called with what a person should know about the sources: that one
	// cannot be read and why, or that it can again; then err is nil.
	Note func(text string, err error)
}

// Said is one step that the cluster told.
type Said struct {
	// Step is its name in the catalogue.
	Step string
	// At is when it happened: when it was heard of, or, for what had happened
	// before, the time that the object itself states, which is in whole seconds.
	At time.Time
	// Pod is whose step it is: its names, its status, and of its spec what decides
	// about it, without what may hold secrets. Nobody may change it.
	Pod *v1.Pod
	// Values are those of the step's fields, in the catalogue's order; nil is one
	// that there is nothing to say of. Texts that others wrote are Words.
	Values []any
	// Err is what went wrong, if the step tells of something that did.
	Err string
}

// UID is the uid under which the pod is known on the node; that of a static pod
// is not its object's.
func (s *Said) UID() types.UID { return uid(s.Pod) }

// Words is a text that others wrote: a message of an object. As an error it is
// shown like one, which is without credentials that may be in it.
type Words string

func (w Words) Error() string { return string(w) }

// startWithin bounds how long the story of the past waits for all sources, so
// that it can be told in order.
const startWithin = 3 * time.Second

// Run tells what the cluster says until ctx ends. What cannot be asked is tried
// again; it never gives up by itself.
func Run(ctx context.Context, o Options) error {
	l := newLedger(o)
	var sources []func(context.Context)
	if o.API != nil {
		api, err := newAPI(o.API)
		if err != nil {
			return err
		}
		pods := newPodWatch(api, l, o)
		events := newEventWatch(api, l, o)
		sources = append(sources, pods.run, events.run)
	}
	if o.Kubelet != nil {
		sources = append(sources, newPoll(o.Kubelet, l, o).run)
	}
	l.await(len(sources))
	overdue := time.AfterFunc(startWithin, l.begin)
	defer overdue.Stop()
	var wg sync.WaitGroup
	for _, run := range sources {
		wg.Go(func() { run(ctx) })
	}
	wg.Wait()
	<-ctx.Done()
	return nil
}
