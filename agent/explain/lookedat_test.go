package explain

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestLookedAt: a worker waits until the kubelet has looked at all pods, and the runtime does not answer about another one: that
// one is the culprit. Pods that are looked at in vain for a shorter time are not, nor is one whose look has ended.
func TestLookedAt(t *testing.T) {
	info, _, err := tracetest.Read(woven)
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	b := &agentpb.Batch{Pods: []*agentpb.Pod{
		{Id: 1, Namespace: "default", Name: "web", Uid: "u1"}, {Id: 2, Namespace: "shop", Name: "sick", Uid: "u2"},
		{Id: 3, Namespace: "shop", Name: "next", Uid: "u3"}, {Id: 4, Namespace: "shop", Name: "well", Uid: "u4"},
	}}
	const second = int64(time.Second)
	add := func(at int64, kind agentpb.Kind, pod uint32, step string, span, parent uint64) {
		e := &agentpb.Event{Seq: uint64(len(b.Events)) + 1, Kind: kind, Pod: pod, Step: eventtest.Step(info, step), Span: span, Parent: parent, Mono: at * second, Time: 1e18 + at*second}
		b.Events = append(b.Events, eventtest.Encode(e))
	}
	const enter, exit = agentpb.Kind_ENTER, agentpb.Kind_EXIT
	add(1, enter, 1, "worker.loop", 1, 0)
	add(2, enter, 4, "pleg.relistpod", 5, 0)
	add(3, exit, 4, "pleg.relistpod", 5, 0)
	add(3, enter, 4, "cri.ContainerStatus", 6, 0) // the kubelet wants to rotate a log
	add(4, enter, 2, "pleg.cache", 2, 0)
	add(5, enter, 3, "pleg.relistpod", 3, 0)
	add(6, enter, 1, "cache.newer", 4, 1)
	h.Add(b, lives.Apply)
	s := Story{h, lives}
	r := s.explained(1, Position{At: h.End(), Now: 40 * second})
	if len(r.Findings) == 0 || r.Findings[0].Cause.ID != "source.waitsForStatus" {
		t.Fatalf("%s: %s", r.Word(), r.Summary(words.English))
	}
	want := causes.Culprit{Kind: causes.CulpritPod, Namespace: "shop", Name: "sick"}
	if got := r.Findings[0].Culprit; got == nil || *got != want {
		t.Errorf("the culprit is %+v", got)
	}
	// A pod waits for the same whose worker has made its containers and sleeps.
	rest := Seen(s, 1, Position{At: h.End(), Now: 40 * second})
	rest.Open, rest.Since = nil, rest.Since.Add(-time.Minute)
	for id, want := range map[string]bool{causes.WaitsForContainers: true, "where.unready": false} {
		if rest.Whereabouts.ID = id; (AwaitedLooks(rest, time.Unix(0, 1e18+40*second)) != nil) != want {
			t.Errorf("at %s it waits for a look: %v", id, !want)
		}
	}
	if rest.Look == nil || rest.Look.Step != "pleg.cache" || rest.Look.Began.UnixNano() != 1e18+4*second {
		t.Errorf("the look is %+v", rest.Look)
	}
	// The pod itself is no victim of its own look.
	if own := s.explained(2, Position{At: h.End(), Now: 40 * second}); len(own.Findings) > 0 && own.Findings[0].Culprit != nil {
		t.Errorf("the culprit has the culprit %+v", own.Findings[0].Culprit)
	}
}
