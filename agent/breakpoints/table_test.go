package breakpoints

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
)

// counted is a table that counts what is armed.
type counted struct {
	*Table
	t     *testing.T
	armed int32
}

func newCounted(t *testing.T) *counted {
	c := &counted{t: t}
	c.Table = NewTable(func(n int32) { c.armed += n }, func() uint64 { return 7 })
	t.Cleanup(c.Clear)
	return c
}

// add adds a breakpoint at step 3.
func (c *counted) add(ctx context.Context, spec *agentpb.AddBreakpointRequest) *Breakpoint {
	c.t.Helper()
	b, err := New(spec)
	if err != nil {
		c.t.Fatal(err)
	}
	b.Client, b.Steps[3] = ctx, "a.step"
	if _, logs := spec.GetAction().(*agentpb.AddBreakpointRequest_Log); logs {
		b.Log = &Log{}
	}
	out, err := c.Add(b)
	if err != nil {
		c.t.Fatal(err)
	}
	if out.Seq != 7 || len(out.Steps) != 1 || out.Steps[0] != "a.step" {
		c.t.Errorf("it is shown as %v", out)
	}
	return b
}

func always(*Breakpoint) bool { return true }

// TestOldestActs: of breakpoints that suit the oldest acts, as often as it is to, and then the next one.
func TestOldestActs(t *testing.T) {
	c := newCounted(t)
	first := c.add(t.Context(), &agentpb.AddBreakpointRequest{Times: 2, After: 1})
	second := c.add(t.Context(), &agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no"}})
	for i, want := range []*Breakpoint{nil, first, first, second, nil} {
		if got := c.Hit(always); got != want {
			t.Errorf("hit %d is of %v", i, got)
		}
	}
	if n := len(c.List()); n != 0 || c.armed != 0 {
		t.Errorf("%d breakpoints are left, and %d armed", n, c.armed)
	}
	if got := c.Proto(first); got.Hits != 2 {
		t.Errorf("the first has acted %d times", got.Hits)
	}
}

// TestKinds: only breakpoints that stop calls are armed.
func TestKinds(t *testing.T) {
	c := newCounted(t)
	snaps := c.add(t.Context(), &agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Snapshot{}})
	logs := c.add(t.Context(), &agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Log{Log: &agentpb.LogAction{}}})
	if c.armed != 0 || !c.Snaps() || !c.Logs() {
		t.Errorf("%d are armed; snapshots: %t, logs: %t", c.armed, c.Snaps(), c.Logs())
	}
	holds := c.add(t.Context(), &agentpb.AddBreakpointRequest{})
	c.Stopping(func(all []*Breakpoint) {
		if len(all) != 1 || all[0] != holds || c.armed != 1 {
			t.Errorf("%d of %d stop calls", len(all), c.armed)
		}
	})
	c.Remove(snaps.ID)
	c.Remove(logs.ID)
	if c.Snaps() || c.Logs() || c.Remove(logs.ID) != nil {
		t.Error("what was removed is still there")
	}
}

// TestEnds: a breakpoint ends when it expires, and when its client is done.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.add(ctx, &agentpb.AddBreakpointRequest{})
		c.add(t.Context(), &agentpb.AddBreakpointRequest{Expires: durationpb.New(time.Minute)})
		c.add(t.Context(), &agentpb.AddBreakpointRequest{})
		left := func(want int) {
			t.Helper()
			synctest.Wait()
			if n := len(c.List()); n != want {
				t.Errorf("%d breakpoints are left, want %d", n, want)
			}
		}
		left(3)
		cancel()
		left(2)
		time.Sleep(time.Minute)
		left(1)
		time.Sleep(defaultExpiry)
		left(0)
	})
}

// TestTooMany: the table is bounded.
func TestTooMany(t *testing.T) {
	c := newCounted(t)
	for range Most {
		c.add(t.Context(), &agentpb.AddBreakpointRequest{})
	}
	b, err := New(&agentpb.AddBreakpointRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b.Client = t.Context()
	if _, err := c.Add(b); err == nil || len(c.List()) != Most {
		t.Errorf("one more is answered with %v", err)
	}
}

// TestApplies: a breakpoint applies on its side of a call, to its pods, after its time, while its client is there.
func TestApplies(t *testing.T) {
	web, db := &pods.Pod{UID: "web"}, &pods.Pod{UID: "db"}
	now := time.Now()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		spec   *agentpb.AddBreakpointRequest
		client context.Context
		at     Crossing
		want   bool
	}{
		{&agentpb.AddBreakpointRequest{}, t.Context(), Crossing{web, Enter, now, ""}, true},
		{&agentpb.AddBreakpointRequest{}, t.Context(), Crossing{web, Exit, now, ""}, false},
		{&agentpb.AddBreakpointRequest{}, gone, Crossing{web, Enter, now, ""}, false},
		{&agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{Uid: "web"}}, t.Context(), Crossing{db, Enter, now, ""}, false},
		{&agentpb.AddBreakpointRequest{On: agentpb.On_ON_EXIT}, t.Context(), Crossing{web, Exit, now, ""}, true},
		{&agentpb.AddBreakpointRequest{On: agentpb.On_ON_EXIT}, t.Context(), Crossing{web, Enter, now, ""}, false},
		{&agentpb.AddBreakpointRequest{On: agentpb.On_ON_ERROR}, t.Context(), Crossing{web, Exit, now, ""}, false},
		{&agentpb.AddBreakpointRequest{On: agentpb.On_ON_ERROR}, t.Context(), Crossing{web, Exit, now, "no"}, true},
		{&agentpb.AddBreakpointRequest{SlowerThan: durationpb.New(time.Hour)}, t.Context(), Crossing{web, Exit, now, ""}, false},
		{&agentpb.AddBreakpointRequest{SlowerThan: durationpb.New(time.Hour)}, t.Context(), Crossing{web, Exit, now.Add(-2 * time.Hour), ""}, true},
	} {
		b, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		b.Client = c.client
		if got := b.Applies(c.at); got != c.want {
			t.Errorf("%v at side %d of a call about %s: %t", c.spec, c.at.Side, c.at.Pod.UID, got)
		}
	}
}
