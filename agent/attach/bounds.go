package attach

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/kubelets"
)

const (
	// leaseEvery is how often the node's lease is asked for while pods may be held by stopping the whole kubelet.
	// askLeaseWithin bounds the wait for one answer, and maxLease its size in bytes.
	leaseEvery, askLeaseWithin, maxLease = 3 * time.Second, 2 * time.Second, 1 << 20
	// lateLease is the age of an answer from which on what the lease says is not known any more.
	lateLease = time.Minute
)

// watchBounds keeps the debugger process informed how long it may stop the whole kubelet.
func (p *debugged) watchBounds(api *kubeapi.Client, bounds delve.Bounds) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	answered := time.Now()
	for {
		select {
		case <-p.host.Context().Done():
			return
		case <-tick.C:
		}
		if good, err := leaseGood(p.host.Context(), api, p.target.Kubelet.Node); err == nil {
			bounds.Lease, answered = good, time.Now()
		} else if time.Since(answered) > lateLease {
			bounds.Lease = 0
		}
		p.client.Bound(bounds)
	}
}

// bounds returns how long the whole kubelet may stand still now. api is nil if nobody can be asked for the node's lease.
func (t *Target) bounds(ctx context.Context) (b delve.Bounds, api *kubeapi.Client) {
	b.Watchdog = kubelets.Watchdog(t.current().PID)
	if t.reports.api == nil {
		return b, nil
	}
	api, err := kubeapi.New(t.reports.api)
	if err != nil {
		return b, nil
	}
	b.Lease, _ = leaseGood(ctx, api, t.Kubelet.Node) // a node without a lease, as in a lab of another kind, has nothing to lose
	return b, api
}

// leaseGood asks the API server until when a node's lease is good. The kubelet writes the time by this machine's clock.
func leaseGood(ctx context.Context, api *kubeapi.Client, node string) (clock.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, askLeaseWithin)
	defer cancel()
	var lease coordinationv1.Lease
	path := fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", v1.NamespaceNodeLease, url.PathEscape(node))
	if err := api.Call(ctx, kubeapi.Request{Path: path}, maxLease, &lease); err != nil {
		return 0, fmt.Errorf("ask for the node's lease: %w", err)
	}
	return leaseEnds(&lease, time.Now())
}

// leaseEnds returns until when a lease is good.
func leaseEnds(lease *coordinationv1.Lease, now time.Time) (clock.Time, error) {
	s := &lease.Spec
	if s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return 0, errors.New("the node's lease was never renewed")
	}
	left := time.Duration(*s.LeaseDurationSeconds)*time.Second - now.Sub(s.RenewTime.Time)
	return clock.Of(now).Add(left), nil
}
