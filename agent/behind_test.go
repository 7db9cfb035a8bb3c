package agent

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/probes"
)

// sent keeps what the agent sends to a client.
type sent struct {
	grpc.ServerStream
	ctx context.Context
	all []*agentpb.Batch
}

func (s *sent) Context() context.Context { return s.ctx }

func (s *sent) Send(b *agentpb.Batch) error {
	s.all = append(s.all, b)
	return nil
}

// TestBehind: what a probe has seen and not yet reported is in the history that a client asks for afterwards.
func TestBehind(t *testing.T) {
	r := newRig(t, Options{})
	r.probes[0].OnBehind(func(context.Context) { r.journal.Put(journal.Event{Kind: agentpb.Kind_NOTE, Err: "late"}) })
	out := &sent{ctx: t.Context()}
	if err := (&service{agent: r.Agent}).Watch(&agentpb.WatchRequest{Node: true, History: true, OnlyHistory: true}, out); err != nil {
		t.Fatal(err)
	}
	for _, b := range out.all {
		for _, e := range r.decoded(b) {
			if e.Error == "late" {
				return
			}
		}
	}
	t.Error("it is not in the history")
}

// TestAwaitOthers: before a probe may hold a call, the others report what they have seen. One that does not is not waited for
// longer than a moment.
func TestAwaitOthers(t *testing.T) {
	r := newRig(t, Options{Probes: []probes.Abilities{{Probe: "inside"}, {Probe: "socket"}}})
	var asked []string
	r.probes[0].OnBehind(func(ctx context.Context) { asked = append(asked, "inside"); <-ctx.Done() })
	r.probes[1].OnBehind(func(context.Context) { asked = append(asked, "socket") })
	r.probes[1].AwaitOthers(t.Context())
	if !slices.Equal(asked, []string{"inside"}) {
		t.Errorf("asked are %v", asked)
	}
}

// TestWatched: somebody watches as long as a client is sent events as they come. One that only reads history does not.
func TestWatched(t *testing.T) {
	r := newRig(t, Options{})
	for _, x := range []struct {
		req  *agentpb.WatchRequest
		want bool
	}{{&agentpb.WatchRequest{Node: true}, true}, {&agentpb.WatchRequest{History: true}, true}, {&agentpb.WatchRequest{OnlyHistory: true}, false}} {
		w := r.watcher(x.req)
		if r.Watched() != x.want {
			t.Errorf("%v: watched is %v", x.req, r.Watched())
		}
		if w.Close(); r.Watched() {
			t.Errorf("%v: watched once it has gone", x.req)
		}
	}
}
