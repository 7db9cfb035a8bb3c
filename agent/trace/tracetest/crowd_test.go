package tracetest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

const recording = "../testdata/node.podstep"

// TestCrowd: the events of a crowd are one node's story: they are numbered in order, every pod is introduced, and no
// span begins twice.
func TestCrowd(t *testing.T) {
	const replicas, events = 3, 60_000
	c, err := NewCrowd(recording, replicas, time.Unix(1e9, 0), 2)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "crowd.podstep")
	if _, err := c.Write(path, events); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pods, begun := map[uint32]bool{}, map[uint64]bool{}
	var last uint64
	for r.Events() < events {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Pods {
			if pods[p.Id] {
				t.Fatalf("pod %d is introduced twice", p.Id)
			}
			pods[p.Id] = true
		}
		for _, raw := range b.Events {
			e := eventtest.Decode(t, raw)
			if last++; e.Seq != last {
				t.Fatalf("event %d is numbered %d", last, e.Seq)
			}
			if e.Pod != 0 && !pods[e.Pod] {
				t.Fatalf("event %d is of pod %d, which was not introduced", e.Seq, e.Pod)
			}
			if e.Kind == agentpb.Kind_ENTER {
				if begun[e.Span] {
					t.Fatalf("span %d begins twice", e.Span)
				}
				begun[e.Span] = true
			}
		}
	}
	if want := len(c.Pods()); len(pods) != want {
		t.Errorf("%d pods, want %d", len(pods), want)
	}
}

// TestCrowdHold: as many pods as asked for are held at the step, and do nothing from then on.
func TestCrowdHold(t *testing.T) {
	const step, n, events = "sync.pod", 3, 30_000
	c, err := NewCrowd(recording, 4, time.Unix(1e9, 0), 1.5)
	if err != nil {
		t.Fatal(err)
	}
	c.Hold(n, step, time.Minute)
	b, err := c.Batch(events)
	if err != nil {
		t.Fatal(err)
	}
	held := map[uint32]uint64{} // the pod's call that is held
	var last *agentpb.Event
	for _, raw := range b.Events {
		e := eventtest.Decode(t, raw)
		if held[e.Pod] != 0 {
			t.Fatalf("pod %d goes on while it is held: %v", e.Pod, e)
		}
		if e.Kind == agentpb.Kind_HOLD {
			if c.Info.Steps[e.Step-1].Name != step || last.Kind != agentpb.Kind_ENTER || last.Span != e.Span {
				t.Errorf("%v is held, after %v", e, last)
			}
			held[e.Pod] = e.Span
		}
		last = e
	}
	if len(held) != n || len(c.Held()) != n {
		t.Errorf("%d pods are held, %d have to be, want %d", len(held), len(c.Held()), n)
	}
}
