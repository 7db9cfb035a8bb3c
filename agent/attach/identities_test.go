package attach

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
)

// called gives a session a call, as its watcher does.
func called(t *testing.T, s *hosted, step string, request, answer proto.Message, err error) {
	t.Helper()
	question, errQ := proto.Marshal(request)
	text, errA := proto.Marshal(answer)
	if errQ != nil || errA != nil {
		t.Fatal(errQ, errA)
	}
	w := s.watcher()
	k := &call{method: cri.OfStep(step), began: time.Now(), message: question}
	w.begin(k)
	w.end(k, text, status.Convert(err), time.Now())
}

func runPod(t *testing.T, s *hosted, pod, sandbox string) {
	t.Helper()
	called(t, s, "cri.RunPodSandbox", &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: pod, Uid: "uid-" + pod},
	}}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandbox}, nil)
}

func removeSandbox(t *testing.T, s *hosted, sandbox string, err error) {
	t.Helper()
	called(t, s, "cri.RemovePodSandbox", &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox}, &runtimeapi.RemovePodSandboxResponse{}, err)
}

// shown returns the names of the pods that podstep pods lists.
func shown(t *testing.T, s *hosted) (names []string) {
	t.Helper()
	c, err := client.Dial(t.Context(), s.o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pods, err := c.Pods(t.Context(), &agentpb.PodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Pods {
		names = append(names, p.Pod.Name)
	}
	slices.Sort(names)
	return names
}

// TestGoneWithItsSandbox: a pod that is known by calls alone is gone with its last sandbox, and there again with a
// new one.
func TestGoneWithItsSandbox(t *testing.T) {
	s := hostedSession(t)
	want := func(when string, want ...string) {
		t.Helper()
		if got := shown(t, s); !slices.Equal(got, want) {
			t.Errorf("%s, the pods %v are shown, want %v", when, got, want)
		}
	}
	runPod(t, s, "one", "s1")
	runPod(t, s, "two", "s2")
	runPod(t, s, "two", "s2b")
	want("at first", "one", "two")
	removeSandbox(t, s, "s2", nil)
	want("with the sandbox before gone", "one", "two")
	removeSandbox(t, s, "s1", status.Error(codes.Unavailable, "no"))
	want("with one that could not be removed", "one", "two")
	removeSandbox(t, s, "s1", status.Error(codes.NotFound, "no such sandbox"))
	want("with one gone", "two")
	removeSandbox(t, s, "s2b", nil)
	want("with both gone")
	runPod(t, s, "one", "s1c")
	want("with one back", "one")
	// A pod that somebody wants is not reported as gone.
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one", UID: "uid-one"}}
	s.report(cluster.Report{By: probes.ByKubelet, Step: "cluster.kubelet", At: time.Now(), Pod: web, Values: []any{true, nil, nil, nil}})
	removeSandbox(t, s, "s1c", nil)
	want("with the sandbox of one gone that the kubelet has", "one")
}

// TestFindWithSlowRuntime: podstep does not wait for a late answer of the runtime, but uses it when it comes.
func TestFindWithSlowRuntime(t *testing.T) {
	s, r := hostedSession(t), playRuntime(t)
	r.sandboxes = []*runtimeapi.PodSandbox{{
		Id: "s1", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "web", Uid: "uid-web"},
	}}
	r.list = make(chan struct{})
	reachPlayed(t, s, r)
	if uid := s.cri.pods.whose(cri.Request{Ref: cri.Ref{ID: "s1"}}); uid != "" {
		t.Errorf("s1 is of %q, before the runtime has said so", uid)
	}
	close(r.list)
	deadline := time.Now().Add(patience)
	for s.agent.Owner("s1") != types.UID("uid-web") {
		if time.Now().After(deadline) {
			t.Fatal("the runtime's answer is not heard")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestFindAsksLittle: podstep does not ask the runtime for ids that it knows from calls.
func TestFindAsksLittle(t *testing.T) {
	s, r := hostedSession(t), playRuntime(t)
	reachPlayed(t, s, r)
	const pods = 3
	for i := range pods {
		s.cri.pods.known.Learn(learnt(t, i))
	}
	for i := range pods {
		if uid := s.cri.pods.whose(cri.Request{Ref: cri.Ref{ID: fmt.Sprint("s", i)}}); uid != fmt.Sprint("uid-", i) {
			t.Errorf("s%d is of %q", i, uid)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists != 0 {
		t.Errorf("the runtime was asked %d times", r.lists)
	}
}

// learnt returns a call that has made a pod's sandbox, with its answer.
func learnt(t *testing.T, i int) (cri.Request, cri.Answer) {
	t.Helper()
	m := cri.OfStep("cri.RunPodSandbox")
	question, err := proto.Marshal(&runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: fmt.Sprint("pod-", i), Uid: fmt.Sprint("uid-", i)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := m.Request(question)
	if err != nil {
		t.Fatal(err)
	}
	text, err := proto.Marshal(&runtimeapi.RunPodSandboxResponse{PodSandboxId: fmt.Sprint("s", i)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Answer(q, text)
	if err != nil {
		t.Fatal(err)
	}
	return q, a
}

func reachPlayed(t *testing.T, s *hosted, r *playedRuntime) {
	t.Helper()
	err := s.cri.pods.reach(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.path)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.cri.pods.close)
}
