package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// TestStateOfRawError: a pod has a state whatever bytes the runtime answers.
func TestStateOfRawError(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.run(p).End(time.Now(), errors.New(strings.Repeat("no \xc3 network, ", 1<<10)), []any{false, "s1"})
	if b, err := proto.Marshal(r.stateOf(p)); err != nil {
		t.Errorf("the pod's state becomes %x, %v", b, err)
	}
}

// leaks are texts with a canary in the places where secrets stand.
func leaks(c string) []string {
	return []string{
		"pull https://user:" + c + "@registry.example/x failed", "user:" + c + "@registry.example/app:1", "password=" + c, `{"auths":{"r":{"auth":"` + c + `"}}}`,
		"Authorization: Basic " + c, "command 'sh -c " + c + "' exited with 1: " + c, "mysql -p" + c, "https://h/x?X-Amz-Signature=" + c,
		`Exec lifecycle hook ([sh -c ` + c + `]) for Container "a" failed - error: x, message: "` + c + `"`, "-----BEGIN PRIVATE KEY-----\n" + c,
	}
}

type sprint string

func (s sprint) String() string { return string(s) }

// TestNothingLeaves: whatever a step shows on its way in and out, and however it fails, no event has the secrets in it.
func TestNothingLeaves(t *testing.T) {
	r := newRig(t, Options{})
	set := canary.NewSet()
	c := set.Value("secret")
	p := newPod("default", "web")
	type named string
	for _, step := range r.c.Steps {
		for _, leak := range leaks(c) {
			for _, v := range []any{
				leak, named(leak), sprint(leak), &leak, errors.New(leak), []string{"run", leak}, []named{"run", named(leak)}, map[string]string{"a": leak, "token": c},
				&runtimeapi.ContainerConfig{Args: []string{leak}, Labels: map[string]string{"a": leak}, Annotations: map[string]string{"b": c}, WorkingDir: leak},
			} {
				in, out := valuesOf(&step, p, v)
				_ = r.call(step.Name, in, out, func() error { return errors.New(leak) })
			}
		}
	}
	r.Note("so " + leaks(c)[0])
	r.settle()
	w := r.watcher(&agentpb.WatchRequest{Node: true, OnlyHistory: true})
	defer w.Close()
	var events [][]byte
	for b := w.History(); b != nil; b = w.History() {
		events = append(events, b.Events...)
	}
	if len(events) < 10*len(r.c.Steps) {
		t.Errorf("there are only %d events", len(events))
	}
	for _, raw := range events {
		if found := set.Find(raw); found != nil {
			t.Fatalf("an event shows %v", found)
		}
	}
}

// valuesOf returns the values of a step, with v as the value of each of its fields.
func valuesOf(step *probes.Step, p *v1.Pod, v any) (in, out []any) {
	switch step.Pod.Kind {
	case probes.PodNone, probes.PodInherit:
	case probes.PodUpdates:
		for range step.Pod.Updates {
			out = append(out, []*v1.Pod{p})
		}
	case probes.PodList, probes.PodObjects:
		in = append(in, []*v1.Pod{p})
	default:
		if step.Pod.Exit {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	for range step.Fields {
		in = append(in, v)
	}
	for range step.Results {
		out = append(out, v)
	}
	return in, out
}

// TestAnswersAreCleaned: neither an answer nor an error of a request shows a secret. The kubelet gets what was asked
// for unchanged.
func TestAnswersAreCleaned(t *testing.T) {
	set := canary.NewSet()
	c := set.Value("secret")
	leak := "password=" + c
	all := seesAll()
	all[0].Steps["pleg.relistpod"] = probes.Ability{Unseen: unheld.With("step", leak)}
	all[0].Steps["worker.turn"] = probes.Ability{Entry: true, Exit: true, NoHold: unheld.With("step", leak)}
	r := newRig(t, Options{Probes: all, Node: "user:" + c + "@node"})
	r.probes[0].State(agentpb.ProbeState_PROBE_RETRYING, unheld.With("step", leak))
	client, _ := r.serve()()
	p := newPod("default", "web")
	look := func(what string, m proto.Message, err error) {
		t.Helper()
		b, failed := proto.Marshal(m)
		if failed != nil {
			t.Fatal(failed)
		}
		if found := append(set.Find(b), set.FindString(fmt.Sprint(err))...); found != nil {
			t.Errorf("%s shows %v", what, found)
		}
	}
	b, err := client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{
		Pods: sel(p), Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Fail{Fail: leak},
	})
	if err != nil {
		t.Fatal(err)
	}
	look("a breakpoint", b, nil)
	list, err := client.ListBreakpoints(t.Context(), &agentpb.ListBreakpointsRequest{})
	look("the list of breakpoints", list, err)
	info, err := client.Info(t.Context(), &agentpb.InfoRequest{})
	look("what the agent is", info, err)
	_, err = client.Hold(t.Context(), &agentpb.HoldRequest{Pods: &agentpb.PodSelector{Name: "[" + leak}})
	look("an error", nil, err)
	look("the problem of an error", reason.ProblemOf(err), nil)
	if status.Code(err) != codes.InvalidArgument || reason.CodeOf(err) != agentpb.Problem_BAD_POD_PATTERN {
		t.Errorf("the error is %v", err)
	}
	_, err = client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "worker.turn"})
	look("the cause of a problem", reason.ProblemOf(err), err)
	if reason.ProblemOf(err).GetCause().GetCode() != agentpb.Problem_PROBE_CANNOT_HOLD {
		t.Errorf("the error is %v", err)
	}
	if err := r.sync(p, nil); err == nil || !strings.Contains(err.Error(), c) {
		t.Errorf("the step fails with %v", err)
	}
	for _, e := range r.events("web") {
		look("event "+e.Kind.String(), e, nil)
	}
	pods, err := client.Pods(t.Context(), &agentpb.PodsRequest{})
	look("the pods", pods, err)
}
