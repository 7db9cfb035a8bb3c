package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// tap begins a tap, and returns the events with which it begins.
func (r *rig) tap(carried int) (*Tap, []*agentpb.Event) {
	r.t.Helper()
	t, err := r.Tap(carried)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(t.Close)
	var all []*agentpb.Event
	for b := t.Carried(); b != nil; b = t.Carried() {
		all = append(all, r.decoded(b)...)
	}
	return t, all
}

// TestTapsFollow: one tap ends where the next one begins, and no event is missing or twice.
func TestTapsFollow(t *testing.T) {
	r := newRig(t, Options{})
	one, _ := r.tap(1 << 20)
	pod := newPod("shop", "web")
	body := func() error { return nil }
	if err := r.sync(pod, body); err != nil {
		t.Fatal(err)
	}
	r.settle()
	two, carried := r.tap(1 << 20)
	if err := r.sync(pod, body); err != nil {
		t.Fatal(err)
	}
	r.settle()
	first := r.decoded(one.Rest(two.Began()))
	second := r.decoded(two.Rest(^uint64(0)))
	if len(first) == 0 || len(second) == 0 || first[len(first)-1].Seq != two.Began() || second[0].Seq != two.Began()+1 {
		t.Errorf("%d events up to %d, then %d", len(first), two.Began(), len(second))
	}
	if n := len(carried); n == 0 || carried[n-1].Seq > two.Began() {
		t.Errorf("%d events are carried over", n)
	}
}

// TestTapCarriesOpenCalls: however short a story is made, a call that goes on is in it, and no call that has ended goes
// on.
func TestTapCarriesOpenCalls(t *testing.T) {
	r := newRig(t, Options{})
	pod := newPod("shop", "web")
	err := r.sync(pod, func() error {
		for range 2000 {
			if err := r.call("sync.volumes", []any{pod}, []any{nil}, func() error { return nil }); err != nil {
				return err
			}
		}
		r.settle()
		_, carried := r.tap(1)
		if len(carried) > 200 {
			t.Errorf("%d events are carried over", len(carried))
		}
		open := map[uint64]string{}
		for _, e := range carried {
			switch e.Kind {
			case agentpb.Kind_ENTER:
				open[e.Span] = r.name(e)
			case agentpb.Kind_EXIT:
				delete(open, e.Span)
			}
		}
		var names []string
		for _, name := range open {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) < 3 || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "sync.volumes") }) {
			t.Errorf("these calls go on: %q", names)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTapIsNoClient: taps do not take the places of clients, and none begins when the agent has ended.
func TestTapIsNoClient(t *testing.T) {
	r := newRig(t, Options{})
	r.tap(1)
	st := &agentpb.StatsResponse{}
	r.journal.AddStats(st)
	if st.Subscribers != 0 {
		t.Errorf("%d clients", st.Subscribers)
	}
	r.Close()
	if _, err := r.Tap(1); err == nil {
		t.Errorf("after the end: %v", err)
	}
}
