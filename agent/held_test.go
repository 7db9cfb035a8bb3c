package agent

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// holdAll holds three pods by breakpoints, and returns a channel for each, which is closed when its pod has gone on.
func (r *rig) holdAll(client agentpb.AgentClient, at map[*v1.Pod]string) map[*v1.Pod]<-chan struct{} {
	r.t.Helper()
	out := map[*v1.Pod]<-chan struct{}{}
	for p, step := range at {
		r.pods.Object(p)
		if _, err := client.AddBreakpoint(r.t.Context(), &agentpb.AddBreakpointRequest{Pods: sel(p), Step: step, Times: 1, Message: "for " + p.Name}); err != nil {
			r.t.Fatal(err)
		}
		out[p] = r.startContainer(p)
		r.held(p)
	}
	return out
}

// TestContinueSome: holds are listed and let go by pod, label, step and user, and nothing else goes on.
func TestContinueSome(t *testing.T) {
	web, db, job := newPod("default", "web"), newPod("shop", "db"), newPod("shop", "job")
	db.Labels = map[string]string{"app": "db"}
	me, other := uint32(os.Getuid()), uint32(os.Getuid()+1)
	for name, c := range map[string]struct {
		req  *agentpb.ContinueRequest
		want []string
	}{
		"all":             {&agentpb.ContinueRequest{}, []string{"db", "job", "web"}},
		"glob":            {&agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Namespace: "shop", Name: "*"}}, []string{"db", "job"}},
		"labels":          {&agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Labels: map[string]string{"app": "db"}}}, []string{"db"}},
		"step":            {&agentpb.ContinueRequest{Step: "cri.*"}, []string{"job"}},
		"stage":           {&agentpb.ContinueRequest{Step: "stage:cri", Pods: &agentpb.PodSelector{Name: "web"}}, nil},
		"user":            {&agentpb.ContinueRequest{Uid: &me}, []string{"db", "job", "web"}},
		"another user":    {&agentpb.ContinueRequest{Uid: &other}, nil},
		"user and a step": {&agentpb.ContinueRequest{Uid: &me, Step: "rt.sync"}, []string{"db"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			connect := r.serve()
			client, _ := connect()
			gone := r.holdAll(client, map[*v1.Pod]string{web: "sync.pod", db: "rt.sync", job: "cri.StartContainer"})
			list, err := client.ListHolds(t.Context(), &agentpb.ListHoldsRequest{Pods: c.req.Pods, Step: c.req.Step, Uid: c.req.Uid})
			if err != nil {
				t.Fatal(err)
			}
			if got := heldNames(list.Holds); !slices.Equal(got, c.want) {
				t.Errorf("listed %v, want %v", got, c.want)
			}
			c.req.All = true
			let, err := client.Continue(t.Context(), c.req)
			if err != nil {
				t.Fatal(err)
			}
			if got := heldNames(let.Released); !slices.Equal(got, c.want) {
				t.Errorf("released %v, want %v", got, c.want)
			}
			for p, done := range gone {
				if slices.Contains(c.want, p.Name) {
					<-done
				} else if len(r.holds.Of(&r.pods.UID(string(p.UID)).State.holding)) == 0 {
					t.Errorf("%s is not held any more", p.Name)
				}
			}
			r.releaseAll(agentpb.ReleaseContinue)
		})
	}
	r := newRig(t, Options{})
	for _, req := range []*agentpb.ContinueRequest{{All: true, Step: "none"}, {All: true, Pods: &agentpb.PodSelector{Name: "["}}} {
		if _, err := r.svc.Continue(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// TestContinueSomePending: a request to let pods go by name or user takes back the pending holds, too; one by step does not.
func TestContinueSomePending(t *testing.T) {
	r := newRig(t, Options{})
	connect := r.serve()
	client, _ := connect()
	p := newPod("default", "web")
	r.pods.Object(p)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p)})
		ended <- err
	}()
	for r.pods.Object(p).State.holding.Pending() == nil {
		runtime.Gosched()
	}
	me, other := uint32(os.Getuid()), uint32(os.Getuid()+1)
	for _, req := range []*agentpb.ContinueRequest{{Uid: &other}, {Step: "cri.*"}, {Pods: &agentpb.PodSelector{Name: "db"}}} {
		req.All = true
		if _, err := client.Continue(t.Context(), req); err != nil || r.pods.Object(p).State.holding.Pending() == nil {
			t.Errorf("%v took the hold back, %v", req, err)
		}
	}
	if _, err := client.Continue(t.Context(), &agentpb.ContinueRequest{All: true, Uid: &me}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the request holds the pod although it was taken back")
	}
}

// TestMessage: a message comes with its hold, wherever that is shown, goes on to the next step, and has a bound. What may
// not be shown is taken out of it.
func TestMessage(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	if _, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Pods: sel(p), Step: "sync.pod", Times: 1, Message: "see https://ana:hunter2@example.com/7"}); err != nil {
		t.Fatal(err)
	}
	done := r.startContainer(p)
	r.held(p)
	var shown []proto.Message
	list, err := r.svc.ListHolds(t.Context(), &agentpb.ListHoldsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	points, err := r.svc.ListBreakpoints(t.Context(), &agentpb.ListBreakpointsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, list, points, r.step(p, agentpb.StepMode_INTO, ""))
	if h := list.Holds[0]; !strings.HasPrefix(h.Message, "see https://") {
		t.Errorf("the hold's message is %q", h.Message)
	}
	h, err := r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p), Message: "the other half"})
	if err != nil || h.Message != "the other half" {
		t.Errorf("the step's message is %q, %v", h.GetMessage(), err)
	}
	r.releaseAll(agentpb.ReleaseContinue)
	<-done
	var events []string
	for _, e := range r.events("web") {
		shown = append(shown, e)
		if e.Kind == agentpb.Kind_HOLD {
			raw, err := proto.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, wire.Hold(raw).Message)
		}
	}
	if len(events) != 3 || events[0] != list.Holds[0].Message || events[1] != events[0] || events[2] != "the other half" {
		t.Errorf("the events' messages are %q", events)
	}
	for _, m := range shown {
		if strings.Contains(fmt.Sprint(m), "hunter2") {
			t.Errorf("a password is shown: %v", m)
		}
	}
	long := strings.Repeat("x", 201)
	for name, ask := range map[string]func() error{
		"hold": func() error {
			_, err := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p), Message: long})
			return err
		},
		"breakpoint": func() error {
			_, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Message: long})
			return err
		},
	} {
		if err := ask(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "200 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func heldNames(holds []*agentpb.HoldInfo) []string {
	var out []string
	for _, h := range holds {
		out = append(out, h.Pod.Name)
	}
	slices.Sort(out)
	return out
}
