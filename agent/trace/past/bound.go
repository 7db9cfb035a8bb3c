package past

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
)

// Bound leaves out the events of a recording that are outside of a time, as Choice does.
func Bound(r trace.Recording, since, until time.Time, context bool) trace.Recording {
	return &boundedTime{r, Choice{Since: since, Until: until, Context: context}}
}

type boundedTime struct {
	trace.Recording
	choice Choice
}

func (b *boundedTime) Next() (*agentpb.Batch, error) {
	all, err := b.Recording.Next()
	if err != nil {
		return nil, err
	}
	out := &agentpb.Batch{Pods: all.GetPods(), CaughtUp: all.GetCaughtUp()}
	for _, raw := range all.GetEvents() {
		if h, err := wire.ReadHeader(raw); err != nil || b.choice.includes(h.Time) {
			out.Events = append(out.Events, raw)
		}
	}
	return out, nil
}
