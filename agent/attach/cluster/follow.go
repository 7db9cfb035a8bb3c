package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes"
)

// How long is waited before the next try: longer after each that failed, and
// long where only a person can help.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
	refusedWait = time.Minute
)

// follower lists objects of a kind and watches them from then on, for as long as
// its context lives.
type follower[T any] struct {
	api   *kubeapi.Client
	path  string
	query url.Values
	// notes is called when it fails, once for as long as the error is the same, with
	// nil when it works again, and before anything failed too.
	notes func(error)

	// listed is called with each object of a list, complete when it is whole, and
	// changed with each change. up reports whether changes are being watched.
	listed   func(*T)
	complete func()
	changed  func(kind string, object *T)
	up       func(bool)
	// done is called once, when the first list is whole or cannot be had.
	done func()

	worked bool
	failed string // what was noted
}

func (f *follower[T]) run(ctx context.Context) {
	done := sync.OnceFunc(f.done)
	defer done()
	wait := firstWait
	version := ""
	for ctx.Err() == nil {
		began := time.Now()
		err := f.turn(ctx, &version)
		if err == nil || ctx.Err() != nil {
			wait = firstWait
			done()
			// A server that ends each watch at once is not to be asked without end.
			if time.Since(began) < firstWait {
				f.sleep(ctx, firstWait)
			}
			continue
		}
		f.up(false)
		done()
		if kubeapi.IsCode(err, http.StatusGone) {
			version = "" // what changed meanwhile is forgotten: list anew
			f.sleep(ctx, firstWait)
			continue
		}
		f.fails(err)
		if refused(err) {
			f.sleep(ctx, refusedWait)
			continue
		}
		f.sleep(ctx, wait)
		wait = min(2*wait, longestWait)
	}
}

// turn is a list, if there was none, or a watch.
func (f *follower[T]) turn(ctx context.Context, version *string) (err error) {
	if *version == "" {
		if *version, err = kubeapi.List(ctx, f.api, f.path, f.query, f.listed); err != nil {
			*version = ""
			return err
		}
		f.complete()
		f.works()
		return nil
	}
	*version, err = watch(ctx, f.api, f.path, f.query, *version, f.works, f.changed)
	return err
}

func (f *follower[T]) works() {
	f.up(true)
	if f.failed != "" || !f.worked {
		f.failed, f.worked = "", true
		f.notes(nil)
	}
}

// fails notes a failure, once for as long as it is the same.
func (f *follower[T]) fails(err error) {
	if text := err.Error(); text != f.failed {
		f.failed, f.worked = text, true
		f.notes(explain(err))
	}
}

// explain adds what to do about an error, where a person can do something.
func explain(err error) error {
	switch {
	case kubeapi.IsCode(err, http.StatusForbidden):
		return errors.New(err.Error() + "; name a kubeconfig that may with --kubeconfig")
	case kubeapi.IsCode(err, http.StatusUnauthorized):
		return errors.New("the API server does not accept the credentials; name others with --kubeconfig")
	}
	return err
}

// refused reports whether trying again soon is of no use.
func refused(err error) bool {
	return kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized)
}

// sleep waits about that long, so that many do not come at once.
func (f *follower[T]) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// newPodWatch follows the pods that are bound to the node. The kubelet's own
// credentials may do as much.
func newPodWatch(a *kubeapi.Client, l *ledger, o Options) *follower[v1.Pod] {
	has := map[types.UID]bool{}
	return &follower[v1.Pod]{
		api: a, path: "/api/v1/pods", query: url.Values{"fieldSelector": {"spec.nodeName=" + o.Node}},
		notes: func(err error) { o.State(probes.ByAPI, err) }, done: l.ready, up: l.connected,
		listed: func(p *v1.Pod) {
			has[p.UID] = true
			l.object(trim(p), fromObject)
		},
		complete: func() {
			l.all(has)
			has = map[types.UID]bool{}
		},
		changed: func(kind string, p *v1.Pod) {
			if kind == "DELETED" {
				l.gone(p.UID, trim(p), live)
				return
			}
			l.object(trim(p), live)
		},
	}
}

// newEventWatch follows events about pods. Which node a pod is on cannot be asked
// for there, so events of other nodes' pods come too and are passed over.
func newEventWatch(a *kubeapi.Client, l *ledger, o Options) *follower[v1.Event] {
	failed := false
	notes := func(err error) {
		switch {
		case err != nil:
			failed = true
			o.Note("events of the API server are not shown", err)
		case failed:
			failed = false
			o.Note("events of the API server are shown again", nil)
		}
	}
	return &follower[v1.Event]{
		api: a, path: "/api/v1/events", query: url.Values{"fieldSelector": {"involvedObject.kind=Pod"}},
		notes: notes, done: l.ready, up: func(bool) {},
		listed:   func(e *v1.Event) { l.event(newHappening(e, fromObject), o.Node) },
		complete: func() {},
		changed: func(kind string, e *v1.Event) {
			if kind != "DELETED" {
				l.event(newHappening(e, live), o.Node)
			}
		},
	}
}
