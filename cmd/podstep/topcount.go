package main

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/stream"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
)

// topLimit bounds the bytes of events that top keeps. It needs an event only for as long as it counts it.
const topLimit = 8 << 20

// topper counts the calls of a stream or a recording.
type topper struct {
	catalogue *probes.Catalogue
	pods      *agentpb.PodSelector
	globs     []string
	filter    *filter.Filter
	live      bool      // time goes on without an event
	from      time.Time // when podstep began to look; zero: what was before counts as well

	info    *agentpb.InfoResponse
	h       *history.History
	spreads *spread.Spreads
	names   map[uint32]bool // the agent's numbers of the selected pods
	gaps    int             // how many times events were lost
}

// begin begins with the agent or the recording that info is about.
func (t *topper) begin(info *agentpb.InfoResponse) {
	t.info, t.h, t.names = info, history.New(info, t.catalogue), map[uint32]bool{0: t.node()}
	t.h.SetLimit(topLimit)
	t.spreads = spread.New(t.h, t.wanted)
}

// node reports whether the calls that belong to no pod count: they do if all pods are selected.
func (t *topper) node() bool { return t.pods.GetName() == "" && t.pods.GetNamespace() == "" }

// wanted reports whether the call of an event is selected by its step and by the filter.
func (t *topper) wanted(r *history.Record) bool {
	if len(t.globs) > 0 && !fitsAny(t.globs, t.h.Step(r.Step).Name) {
		return false
	}
	if t.filter.Empty() {
		return true
	}
	e := r.Epoch.Event(r.Raw)
	return t.filter.Match(&e)
}

func fitsAny(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// add counts the calls of the selected pods in a batch.
func (t *topper) add(b *agentpb.Batch) {
	own := &agentpb.Batch{}
	for _, p := range b.GetPods() {
		is := t.pods.Selects(p.GetNamespace(), p.GetName())
		t.names[p.GetId()] = is
		if is {
			own.Pods = append(own.Pods, p)
		}
	}
	for _, raw := range b.GetEvents() {
		head, err := wire.ReadHeader(raw)
		switch {
		case err != nil:
			t.gaps++
		case head.Kind == agentpb.Kind_DROP:
			t.gaps++
		case t.names[head.Pod]:
			own.Events = append(own.Events, raw)
		}
	}
	t.h.Add(own, t.spreads.Apply)
}

// now returns the session time up to which events were seen.
func (t *topper) now() int64 {
	if t.live && t.h.Origin() != 0 {
		return max(t.h.Last(), time.Now().UnixNano()-t.h.Origin())
	}
	return t.h.Last()
}

// spread returns what was counted so far. Without a history, time counts from the moment at which podstep began to look,
// even if the first event came later.
func (t *topper) spread() *spread.Spread {
	s := t.spreads.At(t.h.End())
	if !t.from.IsZero() && t.h.Origin() != 0 {
		s.From = min(s.From, t.from.UnixNano()-t.h.Origin())
	}
	return s
}

func (t *topper) rows(order spread.Order) []spread.Row { return t.spread().Rows(t.h, t.now(), order) }

func (t *topper) seen() time.Duration { return t.spread().Seen(t.now()) }

// baseline returns what was counted, for a file.
func (t *topper) baseline() *spread.Baseline {
	b := &spread.Baseline{
		Of: t.pods.Written(), Node: words.Clean(t.info.GetNode()), Kubelet: words.Clean(t.info.GetKubeletVersion()),
		Taken: time.Unix(0, t.h.Origin()+t.now()).UTC(), SeenNs: int64(t.seen()),
	}
	b.Keep(t.h, t.rows(spread.ByP99))
	return b
}

// topOfRecording counts the calls of a trace or of logs. If the recording is damaged, it counts those before that place.
func (a *app) topOfRecording(ctx context.Context, t *topper, logs *logFlags, names ...string) error {
	logs.past.pods = t.pods
	r, err := a.openLogs(ctx, logs, names...)
	if err != nil {
		return openError(err)
	}
	defer r.Close()
	t.begin(r.Header().Info)
	for ctx.Err() == nil {
		b, err := r.Next()
		var fault *trace.Fault
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &fault) && fault.Unfinished:
			a.printf("podstep: %s: %s", nameOfLogs(append(names, logs.logs...)), fault)
			return nil
		case err != nil:
			return a.endOfTrace(err, nameOfLogs(append(names, logs.logs...)))
		}
		t.add(b)
	}
	return ctx.Err()
}

// topOfRecord counts the calls that the agent of one node has recorded.
func (a *app) topOfRecord(ctx context.Context, t *topper, logs *logFlags) error {
	names, err := logs.fromRecord(ctx, a, t.pods, true)
	if err != nil {
		return err
	}
	return a.topOfRecording(ctx, t, logs, names...)
}

// topEvery is how often --watch prints the table.
const topEvery = time.Second

// follow counts the batches of a stream until it ends, or ctx does. It calls again when there is something to print.
func (t *topper) follow(ctx context.Context, next func() (*agentpb.Batch, error), again func(*topper) error) error {
	arrivals := stream.Receive(ctx, next)
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	caughtUp := false
	for {
		select {
		case got := <-arrivals:
			switch {
			case ctx.Err() != nil, errors.Is(got.Err, io.EOF):
				return nil
			case got.Err != nil:
				return got.Err
			}
			t.add(got.Item)
			if got.Item.GetCaughtUp() && !caughtUp {
				caughtUp = true
				if err := again(t); err != nil {
					return err
				}
			}
		case <-tick.C:
			if caughtUp {
				if err := again(t); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}
