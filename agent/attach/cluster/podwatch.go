package cluster

import (
	"context"
	"net/url"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes"
)

// podsLast is how long a watch of pods lasts at least. Bookmarks keep it new.
const podsLast = 5 * time.Minute

// newPodWatch makes what follows the pods that are bound to the node. The kubelet's own credentials allow that. The
// API server answers both the list and the watch from its watch cache, with an index of pods by node. stirs is called
// after each object, and done when the first list is whole or cannot be had.
func newPodWatch(c *Cluster, stirs func(p *v1.Pod, from source, gone bool), done func()) *follower[v1.Pod] {
	const path = "/api/v1/pods"
	query := url.Values{"fieldSelector": {"spec.nodeName=" + c.o.Node}}
	l := c.ledger
	has := map[types.UID]bool{}
	listed := func(p *v1.Pod) {
		has[p.UID] = true
		p = trim(p)
		l.object(p, fromObject)
		stirs(p, fromObject, false)
	}
	return &follower[v1.Pod]{
		clock: c.clock, pace: newPace(), api: c.api, path: path, query: query, lasts: podsLast,
		list: func(ctx context.Context, notOlder string) (string, error) {
			return kubeapi.ListCached(ctx, c.api, path, query, notOlder, listed)
		},
		complete: func() {
			l.keepOnly(has)
			has = map[types.UID]bool{}
		},
		changed: func(kind string, p *v1.Pod) {
			p = trim(p)
			if kind == "DELETED" {
				l.gone(p.UID, p, live)
			} else {
				l.object(p, live)
			}
			stirs(p, live, kind == "DELETED")
		},
		up: l.connected, done: done,
		notes: func(err error) { c.o.State(probes.ByAPI, explain(err)) },
	}
}
