package dap

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
)

// atExit is the configuration of a breakpoint at which the worker of linger stops before it comes to its next step.
var atExit = map[string]any{"step": "rt.sandbox", "condition": "kind=exit"}

// linger plays a pod's worker that stays in rt.sandbox until goOn is closed. inside is closed when it is past the beginning of that.
func (k *kubelet) linger(p *v1.Pod) (inside, goOn, done chan struct{}) {
	inside, goOn, done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	sandbox := func() error {
		close(inside)
		select {
		case <-goOn:
		case <-k.over:
		}
		return nil
	}
	start := func() error { return k.call("cri.StartContainer", []any{"c1"}, nil, nil) }
	k.workers.Go(func() {
		defer close(done)
		k.add(p)
		_ = k.call("worker.loop", []any{p.UID}, nil, func() error {
			return k.call("worker.turn", nil, nil, func() error {
				return k.call("sync.pod", []any{p, "create"}, []any{false}, func() error {
					return k.call("rt.sync", []any{p}, nil, func() error {
						_ = k.call("rt.sandbox", []any{p, 0}, []any{false, "s1"}, sandbox)
						return k.call("rt.start", []any{p}, nil, start)
					})
				})
			})
		})
	})
	return inside, goOn, done
}

// untilWanted waits until the agent has a pending hold of a pod, or has none.
func (k *kubelet) untilWanted(want bool) {
	k.t.Helper()
	labtest.Eventually(k.t, "as many pending holds as wanted", func() bool { return len(k.a.Probe("woven").Wanted()) > 0 == want })
}

// breakAtExit sets the breakpoint atExit, for somebody else than the editor. It ends with the connection.
func (k *kubelet) breakAtExit(c *client.Client, req *agentpb.AddBreakpointRequest) {
	k.t.Helper()
	req.Pods, req.Step, req.On, req.WhileConnected = &agentpb.PodSelector{Name: "web"}, "rt.sandbox", agentpb.On_ON_EXIT, true
	if _, err := c.AddBreakpoint(k.t.Context(), req); err != nil {
		k.t.Fatal(err)
	}
}

// scene is a pod of an editor that is held before it has come to where a request of the editor would hold it.
type scene struct {
	*editor
	k        *kubelet
	other    *client.Client // of somebody else
	place    int
	done     chan struct{}
	requests map[string]any // the arguments of requests about the pod
}

// forestall makes a scene: the editor sends asked, and then the hold of a breakpoint comes first, by the editor or by somebody else.
func forestall(t *testing.T, asked string, by *agentpb.AddBreakpointRequest) *scene {
	t.Helper()
	k := newKubelet(t, agent.Options{})
	s := &scene{editor: newEditor(t, Options{}), k: k, other: k.agent()}
	points := []any{"cri.StartContainer"}
	if by == nil {
		points = append(points, atExit)
	} else {
		k.breakAtExit(s.other, by)
	}
	if asked != "pause" {
		points = append(points, "rt.sandbox")
	}
	s.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "breakpoints": points})
	s.do("configurationDone", nil)
	inside, goOn, done := k.linger(newPod("web"))
	s.done = done
	if asked != "pause" {
		s.place = s.stopped().ThreadId
	} else {
		<-inside
		s.place = s.thread()
	}
	s.requests = map[string]any{"threadId": s.place}
	s.do(asked, s.requests)
	k.untilWanted(true)
	close(goOn)
	if got := s.stopped(); got.ThreadId != s.place {
		t.Errorf("the stop is %+v", got)
	}
	s.isAt("rt.sandbox (exit)")
	return s
}

// thread waits for a pod, and returns its number.
func (s *scene) thread() (place int) {
	s.t.Helper()
	m := s.event("thread", nil)
	var body struct{ ThreadId int }
	m.into(s.t, &body)
	return body.ThreadId
}

// isAt checks where the pod is held.
func (s *scene) isAt(step string) {
	s.t.Helper()
	if names, _ := s.frames(s.place); !strings.HasPrefix(names, step+"\n") {
		s.t.Fatalf("the pod is not held at %s, but at\n%s", step, names)
	}
}

// comesTo waits for the pod's next stop, which must be at a step, for a reason.
func (s *scene) comesTo(step, reason string) {
	s.t.Helper()
	if got := s.stopped(); got.Reason != reason {
		s.t.Fatalf("the stop is %+v, want the reason %q", got, reason)
	}
	s.isAt(step)
}

// continues lets the pod go on to the breakpoint that comes next, and then for good.
func (s *scene) continues() {
	s.t.Helper()
	s.do("continue", s.requests)
	s.comesTo("cri.StartContainer", "function breakpoint")
	s.ends()
}

// ends lets the pod go for good: nothing else holds it, and nothing went wrong.
func (s *scene) ends() {
	s.t.Helper()
	s.do("continue", s.requests)
	<-s.done
	if s.has("stopped") {
		s.t.Error("the pod was held once more")
	}
	s.silent()
	s.do("disconnect", nil)
	_ = s.other.Close()
	s.k.nothingArmed(s.k.agent())
}

// silent checks that the editor was shown no error.
func (s *scene) silent() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.events {
		if m.Event == "output" && strings.Contains(string(m.Body), `"`+important+`"`) {
			s.t.Errorf("the editor was shown %s", m.Body)
		}
	}
}

// forestallers are the breakpoints that come before what an editor has asked for.
func forestallers() map[string]*agentpb.AddBreakpointRequest {
	hold := &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(time.Hour)}}
	return map[string]*agentpb.AddBreakpointRequest{"own": nil, "other's": {Action: hold}}
}

// TestForestalled: a pause or a step is over when a breakpoint holds the pod first. What the person does then is as if it had
// never been asked for.
func TestForestalled(t *testing.T) {
	for by := range forestallers() {
		for _, asked := range []string{"pause", "next", "stepIn"} {
			t.Run(asked+" by "+by+" breakpoint", func(t *testing.T) {
				t.Run("next", func(t *testing.T) {
					s := forestall(t, asked, forestallers()[by])
					s.do("next", s.requests)
					s.comesTo("rt.start", "step")
					s.continues()
				})
				t.Run("continue", func(t *testing.T) {
					s := forestall(t, asked, forestallers()[by])
					s.continues()
				})
			})
		}
	}
}

// TestForestalledFreely: a pause does not hold the pod when the hold that came first ends by itself.
func TestForestalledFreely(t *testing.T) {
	s := forestall(t, "pause", forestallers()["other's"])
	s.k.untilWanted(false)
	_ = s.other.Close() // the breakpoint and its hold end with it
	s.event("continued", nil)
	s.comesTo("cri.StartContainer", "function breakpoint")
	s.ends()
}

// delayed makes a step take longer.
func delayed(by time.Duration) *agentpb.AddBreakpointRequest {
	return &agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(by)}}
}

// TestForestalledByDelay: a pause is over when somebody delays the pod first; a step goes on through the delay.
func TestForestalledByDelay(t *testing.T) {
	t.Run("pause", func(t *testing.T) {
		s := forestall(t, "pause", delayed(time.Minute))
		s.do("next", s.requests)
		s.comesTo("rt.start", "step")
		s.continues()
	})
	t.Run("next", func(t *testing.T) {
		s := forestall(t, "next", delayed(time.Minute))
		s.refused("next", s.requests, "is under way already")
		if _, err := s.other.Continue(t.Context(), &agentpb.ContinueRequest{All: true, Step: "rt.sandbox"}); err != nil {
			t.Fatal(err)
		}
		s.event("continued", nil)
		s.comesTo("rt.start", "step")
		s.continues()
	})
	t.Run("next, then continue", func(t *testing.T) {
		forestall(t, "next", delayed(time.Minute)).continues()
	})
}

// TestPendingForOther: a pause of a pod that somebody else is about to hold is refused. When the pod is held, it steps as any other.
func TestPendingForOther(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	s := &scene{editor: newEditor(t, Options{}), k: k, other: k.agent()}
	s.attach("vscode", map[string]any{"pod": "web", "socket": k.socket})
	s.do("configurationDone", nil)
	inside, goOn, done := k.linger(newPod("web"))
	s.done = done
	<-inside
	s.place = s.thread()
	s.requests = map[string]any{"threadId": s.place}
	ended := make(chan error, 1)
	go func() {
		_, err := s.other.Hold(t.Context(), &agentpb.HoldRequest{Pods: &agentpb.PodSelector{Name: "web"}})
		ended <- err
	}()
	k.untilWanted(true)
	s.do("pause", s.requests)
	s.printed("somebody else")
	close(goOn)
	s.comesTo("rt.start", "pause")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.do("stepIn", s.requests)
	s.comesTo("cri.StartContainer", "step")
	s.ends()
}
