package compare

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Source gives batches until an error, which is io.EOF at the end.
type Source interface {
	Next() (*agentpb.Batch, error)
}

// ErrNoPod is the error of a source that has nothing of the pod.
var ErrNoPod = errors.New("there is nothing of it")

// Read reads a part of the story of the selected pod from a source, and keeps no events of others. Of several pods of
// one name, one after the other, it takes the last. now, if not nil, returns the time of the agent's clock at the
// end, and gets the wall clock at that clock's zero. If the source fails with another error than io.EOF, Read returns
// the error with the story up to there.
func Read(info *agentpb.InfoResponse, from Source, pods *agentpb.PodSelector, part Part, now func(origin int64) int64) (*Story, error) {
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	o := outline.New(h, lives)
	names := map[uint32]*agentpb.Pod{}
	var last int64
	var failed error
	for failed == nil {
		b, err := from.Next()
		if err != nil {
			failed = err
			break
		}
		own := &agentpb.Batch{}
		for _, p := range b.GetPods() {
			if pods.Selects(p.GetNamespace(), p.GetName()) {
				names[p.GetId()] = p
				own.Pods = append(own.Pods, p)
			}
		}
		for _, raw := range b.GetEvents() {
			head, err := wire.ReadHeader(raw)
			if err != nil {
				continue
			}
			last = max(last, head.Mono)
			if names[head.Pod] != nil && head.Pod != 0 {
				own.Events = append(own.Events, raw)
			}
		}
		h.Add(own, func(r *history.Record) {
			lives.Apply(r)
			o.Take(r)
		})
	}
	if failed == io.EOF {
		failed = nil
	}
	place, err := chosen(h, o, pods)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	if now != nil {
		last = max(last, now(h.Origin()))
	}
	return Of(h, o, place, part, Moment{h.End(), last, lives.Now()}), failed
}

// chosen returns the last pod that has events. It fails if there are pods of several names.
func chosen(h *history.History, o *outline.Outlines, pods *agentpb.PodSelector) (place int, err error) {
	var names []string
	for i := 1; i < o.Pods(); i++ {
		p := o.Pod(i)
		if p.Spans.End() == 0 {
			continue
		}
		place = i
		if name := p.Entity.NamespacedName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return 0, fmt.Errorf("pod %s: %w", pods.Written(), ErrNoPod)
	case 1:
		return place, nil
	}
	return 0, fmt.Errorf("%s can be %s; name one of them in full", pods.Written(), strings.Join(names, " or "))
}
