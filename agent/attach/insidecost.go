package attach

import (
	"fmt"
	"time"

	"github.com/podstep/podstep/probes/reasons"
)

const (
	// costEvery is how often the cost of the uprobe probe to the kubelet is calculated.
	costEvery = 5 * time.Second
	// muchCost is the share of a core from which the cost is noted in the node's story.
	muchCost = 0.05
)

// watchCost keeps the cost of the probe to the kubelet in the probe's state, and notes it when it first reaches
// muchCost.
func (p *within) watchCost() {
	noted := false
	before, at := p.probe.Cost(), time.Now()
	tick := time.NewTicker(costEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.host.Context().Done():
			return
		case <-tick.C:
		}
		now, took := p.probe.Cost(), time.Since(at)
		if now.Hits < before.Hits {
			return // the probe has ended
		}
		share := now.Share(before, took)
		remark := reasons.Costs.With(
			"share", fmt.Sprintf("%.1f %%", 100*share), "hits", fmt.Sprintf("%.0f", float64(now.Hits-before.Hits)/took.Seconds()),
			"each", now.Each.Round(100*time.Nanosecond).String())
		p.host.Remark(remark)
		if share >= muchCost && !noted {
			noted = true
			p.host.Note("the uprobe probe: "+remark.Text().En, nil)
		}
		before, at = now, time.Now()
	}
}
