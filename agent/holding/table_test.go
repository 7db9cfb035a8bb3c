package holding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// rig is a table of holds at places that are numbers, with a pod.
type rig struct {
	*Table[int]
	t      *testing.T
	pod    *Pod[int]
	closed chan struct{}
	events []string
}

func newRig(t *testing.T, most int32) *rig {
	r := &rig{t: t, closed: make(chan struct{})}
	r.Table = NewTable[int](most, r.closed, func() uint64 { return uint64(len(r.events)) })
	r.pod = &Pod[int]{Pod: &pods.Pod{ID: 1, UID: "web"}}
	r.pod.Name("default", "web")
	return r
}

// hold returns a hold of the pod for an hour.
func (r *rig) hold() *Hold[int] {
	h := &Hold[int]{
		Terms: Terms{Why: Cause{Cause: agentpb.Cause_CAUSE_HOLD}, Lease: time.Hour, Client: r.t.Context()},
		Pod:   r.pod, Step: &probes.Step{Name: "a.step"}, Side: "enter", Since: time.Now(),
	}
	h.Put = func(kind agentpb.Kind, took time.Duration, fields []wire.Field) uint64 {
		text := fmt.Sprintf("%s %v", kind, took)
		for _, f := range fields {
			if slices.Contains([]string{"on", "reason", "timer", "endsBy"}, f.Name) {
				text += " " + f.Text
			}
		}
		r.events = append(r.events, text)
		return uint64(len(r.events))
	}
	return h
}

// TestEnds: a hold ends for each of its reasons, and its events say for which.
func TestEnds(t *testing.T) {
	for want, c := range map[string]struct {
		change func(h *Hold[int])
		act    func(r *rig, h *Hold[int])
	}{
		"HOLD 0s enter lease, RELEASE 1h0m0s enter " + agentpb.ReleaseLease: {},
		"HOLD 0s enter grace grace, RELEASE 55s enter " + agentpb.ReleaseTimer + " grace": {
			change: func(h *Hold[int]) { h.Budget = &Budget{"grace", h.Since.Add(time.Minute)} },
		},
		"HOLD 0s enter grace lease, RELEASE 1h0m0s enter " + agentpb.ReleaseLease: {
			change: func(h *Hold[int]) { h.Budget = &Budget{"grace", h.Since.Add(2 * time.Hour)} },
		},
		"HOLD 0s enter lease, RELEASE 1s enter test": {
			act: func(_ *rig, h *Hold[int]) { h.Release("test"); h.Release("later") },
		},
		"HOLD 0s enter lease, RELEASE 1s enter " + agentpb.ReleaseAgentEnds: {
			act: func(r *rig, _ *Hold[int]) { close(r.closed) },
		},
		"HOLD 0s enter lease, RELEASE 1s enter " + agentpb.ReleasePodKilled: {
			act: func(r *rig, _ *Hold[int]) { r.Forbid(r.pod, agentpb.ReleasePodKilled) },
		},
		"HOLD 0s enter lease, RELEASE 0s enter " + agentpb.ReleaseCallGivenUp: {
			change: func(h *Hold[int]) {
				gone := make(chan struct{})
				close(gone)
				h.GaveUp = gone
			},
		},
		"HOLD 0s enter lease, RELEASE 0s enter " + agentpb.ReleaseClientGone: {
			change: func(h *Hold[int]) {
				gone, cancel := context.WithCancel(context.Background())
				cancel()
				h.Client = gone
			},
		},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				h, goesOn := r.hold(), false
				h.GoesOn = func() { goesOn = true }
				if c.change != nil {
					c.change(h)
				}
				got := make(chan *Hold[int], 1)
				go r.Hold(h, got)
				time.Sleep(time.Second)
				if c.act != nil {
					c.act(r, <-got)
				}
				synctest.Wait()
				time.Sleep(2 * time.Hour)
				<-h.Ended()
				if events := strings.Join(r.events, ", "); events != want || h.EndedSeq() != 2 || !goesOn {
					t.Errorf("its events are %s, the last is number %d; it goes on: %t", events, h.EndedSeq(), goesOn)
				}
				if held, _ := r.List(nil); len(held) != 0 {
					t.Error("it is still listed")
				}
				if n := r.Counts(); n.Begun != 1 || n.Now != 0 || n.Held == 0 && !strings.Contains(want, "RELEASE 0s") {
					t.Errorf("counted are %+v", n)
				}
			})
		})
	}
}

// TestForbidden: a pod that may not be held any more is let go at once, whoever holds it.
func TestForbidden(t *testing.T) {
	r := newRig(t, 1)
	if err := r.pod.Check(false); err != nil {
		t.Fatal(err)
	}
	r.Forbid(r.pod, agentpb.ReleasePodKilled)
	r.Hold(r.hold(), nil)
	if len(r.events) != 2 || !strings.HasSuffix(r.events[1], agentpb.ReleasePodKilled) {
		t.Errorf("its events are %q", r.events)
	}
	if err := r.pod.Check(true); err == nil {
		t.Error("it may be held")
	}
}

// ask asks for a hold at place 3.
func (r *rig) ask(why agentpb.Cause) *Pending[int] {
	r.t.Helper()
	w := &Pending[int]{Terms: Terms{Why: Cause{Cause: why}, Client: r.t.Context()}, Suits: func(at int) bool { return at == 3 }}
	if err := r.Ask(r.t.Context(), r.pod, w); err != nil {
		r.t.Fatal(err)
	}
	return w
}

// TestAwait: a person who asked for a hold gets it, or is told why not. Then nothing is armed.
func TestAwait(t *testing.T) {
	for name, c := range map[string]struct {
		most int32
		act  func(r *rig, w *Pending[int])
		want string // of the error; "": none
	}{
		"it comes": {1, func(r *rig, w *Pending[int]) {
			if r.Claim(r.pod, w) {
				go r.Hold(r.hold(), w.Got())
			}
		}, ""},
		"a breakpoint is nearer": {1, func(r *rig, _ *Pending[int]) { go r.Hold(r.hold(), r.EndStep(r.pod)) }, ""},
		"it does not come":       {1, func(*rig, *Pending[int]) {}, "1m0s"},
		"it is taken back":       {1, func(r *rig, _ *Pending[int]) { r.Drop(r.pod, agentpb.ReleaseWorkerEnded) }, "default/web"},
		"there is no room":       {0, func(r *rig, w *Pending[int]) { r.Claim(r.pod, w) }, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.most)
				w := r.ask(agentpb.Cause_CAUSE_STEP)
				if err := r.Ask(t.Context(), r.pod, &Pending[int]{}); err == nil {
					t.Error("a second one is pending")
				}
				if r.Armed() != 1 || r.ArmedAtSteps() != 1 || !r.pod.Pending().Suits(3) {
					t.Errorf("%d are armed", r.Armed())
				}
				go c.act(r, w)
				h, err := r.Await(t.Context(), r.pod, w, time.Minute)
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error is %v", err)
				}
				if r.Armed() != 0 || r.pod.Pending() != nil || r.Drop(r.pod, "again") {
					t.Errorf("%d are still armed", r.Armed())
				}
				if h != nil {
					h.Release("test")
					<-h.Ended()
				}
			})
		})
	}
}

// TestGivenUp: a request that its client has cancelled is in nobody's way, also when its goroutine has not come to that yet.
func TestGivenUp(t *testing.T) {
	r := newRig(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	first := &Pending[int]{}
	if err := r.Ask(ctx, r.pod, first); err != nil {
		t.Fatal(err)
	}
	cancel()
	second := r.ask(agentpb.Cause_CAUSE_HOLD)
	if h, err := r.Await(ctx, r.pod, first, time.Minute); h != nil || status.Code(err) != codes.Canceled {
		t.Errorf("the first request has the hold %v and the error %v", h, err)
	}
	if r.pod.Pending() != second || r.Armed() != 1 {
		t.Errorf("%d are armed, and the second request is pending: %v", r.Armed(), r.pod.Pending() == second)
	}
}

// TestGivenUpHoldsNobody: a request that its client has cancelled holds no pod that comes to the place, also when its goroutine
// has not come to that yet.
func TestGivenUpHoldsNobody(t *testing.T) {
	r := newRig(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	w := &Pending[int]{}
	if err := r.Ask(ctx, r.pod, w); err != nil {
		t.Fatal(err)
	}
	cancel()
	if r.Claim(r.pod, w) || r.Armed() != 0 || !r.HasRoom() {
		t.Fatalf("it holds the pod, or %d are armed", r.Armed())
	}
	if h, err := r.Await(ctx, r.pod, w, time.Minute); h != nil || status.Code(err) != codes.Canceled {
		t.Errorf("the request has the hold %v and the error %v", h, err)
	}
}

// TestOnArmed: what listens is called when something is armed, and when nothing is any more, until it is forgotten.
func TestOnArmed(t *testing.T) {
	r, calls := newRig(t, 1), 0
	forget := r.OnArmed(func() { calls++ })
	w := r.ask(agentpb.Cause_CAUSE_HOLD)
	if r.EndStep(r.pod) != nil {
		t.Error("a hold that is no step ends as one")
	}
	r.TakeBack(r.pod, w)
	forget()
	r.ask(agentpb.Cause_CAUSE_HOLD)
	if calls != 2 {
		t.Errorf("it was called %d times", calls)
	}
}

// TestRoom: room for holds is bounded, and comes back.
func TestRoom(t *testing.T) {
	r := newRig(t, 2)
	n := 0
	for r.Reserve() {
		n++
	}
	if n != 2 || r.HasRoom() {
		t.Errorf("there is room for %d holds", n)
	}
	if r.Free(); !r.HasRoom() || !r.Reserve() {
		t.Error("room does not come back")
	}
}
