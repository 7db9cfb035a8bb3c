package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// TestProblems: a request is refused with a code, its arguments, and a message that says the same in English.
func TestProblems(t *testing.T) {
	can := seesAll("sync.cgroup")
	for name, x := range can[0].Steps {
		x.Fail = name == "sync.pod"
		can[0].Steps[name] = x
	}
	r := newRig(t, Options{Probes: can, Differs: map[string]bool{"sync.dirs": true}})
	client, _ := r.serve()()
	web, static, high := newPod("default", "web"), newPod("kube-system", "etcd"), newPod("default", "dns")
	static.Annotations = map[string]string{probes.AnnotationHash: "1"}
	priority := int32(pods.SystemCritical)
	high.Spec.Priority, high.Spec.PriorityClassName = &priority, "system-node-critical"
	for _, p := range []*v1.Pod{web, static, high, newPod("kube-system", "proxy"), newPod("shop", "twin"), newPod("default", "twin")} {
		r.pods.Object(p)
	}
	hold := func(name string, lease, wait time.Duration) error {
		req := &agentpb.HoldRequest{Pods: &agentpb.PodSelector{Name: name}}
		if lease != 0 {
			req.Lease = durationOf(lease)
		}
		if wait != 0 {
			req.Wait = durationOf(wait)
		}
		_, err := client.Hold(t.Context(), req)
		return err
	}
	point := func(spec *agentpb.AddBreakpointRequest) error {
		_, err := client.AddBreakpoint(t.Context(), spec)
		return err
	}
	fail := &agentpb.AddBreakpointRequest_Fail{Fail: "no"}
	_, notHeld := client.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(web)})
	_, noStep := client.Step(t.Context(), &agentpb.StepRequest{Pods: sel(web)})
	_, noPoint := client.RemoveBreakpoint(t.Context(), &agentpb.RemoveBreakpointRequest{Id: 9})
	for _, c := range []struct {
		err    error
		status codes.Code
		code   agentpb.Problem_Code
		cause  agentpb.Problem_Code
		arg    string
	}{
		{hold("", 0, 0), codes.InvalidArgument, agentpb.Problem_POD_NOT_NAMED, 0, ""},
		{hold("[", 0, 0), codes.InvalidArgument, agentpb.Problem_BAD_POD_PATTERN, 0, "["},
		{hold("nobody", 0, 0), codes.NotFound, agentpb.Problem_POD_NOT_FOUND, 0, "nobody"},
		{hold("twin", 0, 0), codes.InvalidArgument, agentpb.Problem_POD_AMBIGUOUS, 0, "default/twin, shop/twin"},
		{hold("web", -1, 0), codes.InvalidArgument, agentpb.Problem_NOT_POSITIVE, 0, "lease"},
		{hold("web", 0, 100*time.Hour), codes.InvalidArgument, agentpb.Problem_TOO_LONG, 0, "100h0m0s"},
		{hold("web", 0, time.Millisecond), codes.DeadlineExceeded, agentpb.Problem_WAIT_TIMEOUT, 0, "1ms"},
		{hold("etcd", 0, 0), codes.FailedPrecondition, agentpb.Problem_CRITICAL_POD, agentpb.Problem_CONTROL_PLANE, "kube-system/etcd"},
		{hold("proxy", 0, 0), codes.FailedPrecondition, agentpb.Problem_CRITICAL_POD, agentpb.Problem_PRIORITY_UNKNOWN, "kube-system/proxy"},
		{hold("dns", 0, 0), codes.FailedPrecondition, agentpb.Problem_CRITICAL_POD, agentpb.Problem_SYSTEM_CRITICAL, "default/dns"},
		{notHeld, codes.FailedPrecondition, agentpb.Problem_NOT_HELD, 0, "default/web"},
		{noStep, codes.FailedPrecondition, agentpb.Problem_NOT_HELD, 0, "default/web"},
		{noPoint, codes.NotFound, agentpb.Problem_BREAKPOINT_NOT_FOUND, 0, "9"},
		{point(&agentpb.AddBreakpointRequest{Step: "none"}), codes.InvalidArgument, agentpb.Problem_STEP_NOT_FOUND, 0, "none"},
		{point(&agentpb.AddBreakpointRequest{Step: "["}), codes.InvalidArgument, agentpb.Problem_BAD_STEP_PATTERN, 0, "["},
		{point(&agentpb.AddBreakpointRequest{Step: "sync.pod", SlowerThan: durationOf(-1)}), codes.InvalidArgument, agentpb.Problem_BAD_SLOWER_THAN, 0, "-1ns"},
		{point(&agentpb.AddBreakpointRequest{Step: "sync.pod", On: agentpb.On_ON_EXIT, Action: fail}), codes.InvalidArgument, agentpb.Problem_FAIL_ON_EXIT, 0, ""},
		{point(&agentpb.AddBreakpointRequest{Step: "worker.update"}), codes.FailedPrecondition, agentpb.Problem_NO_STEP_ALLOWS, agentpb.Problem_STEP_RULE, "worker.update"},
		{point(&agentpb.AddBreakpointRequest{Step: "sync.cgroup"}), codes.FailedPrecondition, agentpb.Problem_NO_STEP_ALLOWS, agentpb.Problem_PROBE_CANNOT_HOLD, "enter"},
		{point(&agentpb.AddBreakpointRequest{Step: "sync.dirs"}), codes.FailedPrecondition, agentpb.Problem_NO_STEP_ALLOWS, agentpb.Problem_FUNCTION_DIFFERS, "enter"},
		{point(&agentpb.AddBreakpointRequest{Step: "sync.volumes", Action: fail}), codes.FailedPrecondition, agentpb.Problem_NO_STEP_ALLOWS, agentpb.Problem_STEP_CANNOT_FAIL, "enter"},
	} {
		p := reason.ProblemOf(c.err)
		if status.Code(c.err) != c.status || p.GetCode() != c.code || p.GetCause().GetCode() != c.cause {
			t.Errorf("%v is %s, %s for %s; want %s, %s for %s", c.err, status.Code(c.err), p.GetCode(), p.GetCause().GetCode(), c.status, c.code, c.cause)
			continue
		}
		if c.arg != "" && !slices.Contains(slices.Collect(maps.Values(p.Args)), c.arg) {
			t.Errorf("%s: %v, want %q", c.code, p.Args, c.arg)
		}
		text := reason.Problem(p)
		if status.Convert(c.err).Message() != text.En || strings.ContainsAny(text.En+text.Zh, "{}") {
			t.Errorf("%s is the message %q, and in words %q", c.code, c.err, text)
		}
	}
}

// TestErrorsAreProblems: only reason.Failed makes errors of requests in the agent and its rooms, and it gives them a code.
// The error with which a step is made to fail is not one of them.
func TestErrorsAreProblems(t *testing.T) {
	files, found := token.NewFileSet(), 0
	var names []string
	for _, room := range []string{".", "breakpoints", "callsite", "holding", "journal"} {
		in, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(in) == 0 {
			t.Fatalf("the files of %s are %v: %v", room, in, err)
		}
		names = append(names, in...)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains([]string{"New", "Newf", "Error", "Errorf"}, sel.Sel.Name) {
					return true
				}
				if id, ok := sel.X.(*ast.Ident); !ok || id.Name != "status" {
					return true
				}
				if found++; fn.Name.Name != "failed" && fn.Name.Name != "faultError" {
					t.Errorf("%s: %s makes an error without a code", files.Position(sel.Pos()), fn.Name.Name)
				}
				return true
			})
		}
	}
	if found == 0 {
		t.Error("no error is made at all")
	}
}

// TestSeq: an answer has the number of the event that led to it, and a later answer includes that event.
func TestSeq(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod", Times: 1}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.sync(p, nil) })
	h := r.held(p).Proto()
	pods, err := r.svc.Pods(t.Context(), &agentpb.PodsRequest{})
	if err != nil || pods.Seq < h.Seq || len(pods.Pods) != 1 || pods.Pods[0].State != "held" || pods.Pods[0].Seq != h.Seq || pods.Pods[0].Holds[0].Seq != h.Seq {
		t.Errorf("held at event %d; the pods are %v, %v", h.Seq, pods, err)
	}
	list, err := r.svc.ListHolds(t.Context(), &agentpb.ListHoldsRequest{})
	if err != nil || list.Seq < h.Seq || len(list.Holds) != 1 || list.Holds[0].Seq != h.Seq {
		t.Errorf("held at event %d; the holds are %v, %v", h.Seq, list, err)
	}
	b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes"})
	if err != nil || b.Seq != h.Seq {
		t.Errorf("a breakpoint that is set after event %d is of %d, %v", h.Seq, b.GetSeq(), err)
	}
	let, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(p)})
	if err != nil || let.Seq <= h.Seq || len(let.Released) != 1 {
		t.Fatalf("released: %v, %v", let, err)
	}
	pods, err = r.svc.Pods(t.Context(), &agentpb.PodsRequest{})
	if err != nil || pods.Seq < let.Seq || len(pods.Pods) != 1 || pods.Pods[0].State == "held" || pods.Pods[0].Seq < let.Seq {
		t.Errorf("released at event %d; the pods are %v, %v", let.Seq, pods, err)
	}
	if list, err = r.svc.ListHolds(t.Context(), &agentpb.ListHoldsRequest{}); err != nil || list.Seq < let.Seq || len(list.Holds) != 0 {
		t.Errorf("released at event %d; the holds are %v, %v", let.Seq, list, err)
	}
	wg.Wait()
	seqs := map[agentpb.Kind]uint64{}
	for _, e := range r.events("web") {
		seqs[e.Kind] = e.Seq
	}
	if seqs[agentpb.Kind_HOLD] != h.Seq || seqs[agentpb.Kind_RELEASE] != let.Seq {
		t.Errorf("answered %d and %d, the events are %v", h.Seq, let.Seq, seqs)
	}
}

// TestSeqOfHistory: a stream says up to which event it has brought all that there was.
func TestSeqOfHistory(t *testing.T) {
	r := newRig(t, Options{})
	client, _ := r.serve()()
	p := newPod("default", "web")
	_ = r.sync(p, nil)
	r.settle()
	w, err := client.Watch(t.Context(), &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := w.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !b.CaughtUp {
			continue
		}
		if want := r.journal.Last(); b.Seq != want {
			t.Errorf("caught up with event %d, want %d", b.Seq, want)
		}
		return
	}
}
