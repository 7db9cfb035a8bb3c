package cri

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// learn makes x learn from a call that went well.
func learn(t testing.TB, x *Identities, q, a proto.Message) Answer {
	t.Helper()
	r := decoded(t, q)
	ans, err := methodOf(t, r).Answer(r, marshal(t, a))
	if err != nil {
		t.Fatal(err)
	}
	x.Learn(r, ans)
	return ans
}

func methodOf(t testing.TB, r Request) *Method {
	t.Helper()
	return asking(t, r.message)
}

// whose returns the pod of an id, as text.
func whose(x *Identities, id string) string {
	p, ok := x.Pod(id)
	if !ok {
		return "nobody"
	}
	return p.Namespace + "/" + p.Name + " " + p.UID
}

func TestLearn(t *testing.T) {
	x := NewIdentities()
	learn(t, x, &runtimeapi.RunPodSandboxRequest{Config: sandbox1}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"})
	learn(t, x, &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", Config: container1, SandboxConfig: sandbox1}, &runtimeapi.CreateContainerResponse{ContainerId: "c1"})
	// The sandbox of this container is not known: its config shows the pod.
	learn(t, x, &runtimeapi.CreateContainerRequest{PodSandboxId: "s0", Config: container1, SandboxConfig: sandbox1}, &runtimeapi.CreateContainerResponse{ContainerId: "c0"})
	for _, id := range []string{"s1", "c1", "s0", "c0"} {
		if got := whose(x, id); got != "default/web u1" {
			t.Errorf("%s is of %s", id, got)
		}
	}
	p, _ := x.Pod("c1")
	if want := map[string]string{"app": "web"}; !reflect.DeepEqual(p.Labels, want) || p.Static() || !p.Ready || p.Sandbox != "s1" || p.Created.IsZero() {
		t.Errorf("the pod is %+v", p)
	}
	if p, ok := x.Pod("c1"); !ok || p.Pod != web {
		t.Errorf("the pod of the container is %+v", p)
	}
	if p, ok := x.Pod(""); ok {
		t.Errorf("the pod of no id is %+v", p)
	}

	learn(t, x, &runtimeapi.RemoveContainerRequest{ContainerId: "c1"}, &runtimeapi.RemoveContainerResponse{})
	if n := len(x.sandboxes["s1"].containers); n != 0 {
		t.Errorf("%d containers are kept of a sandbox that has none", n)
	}
	learn(t, x, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s0"}, &runtimeapi.StopPodSandboxResponse{})
	if p, _ := x.Pod("s0"); p.Ready {
		t.Error("a sandbox that was stopped is ready")
	}
	learn(t, x, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: "s0"}, &runtimeapi.RemovePodSandboxResponse{})
	for id, want := range map[string]string{"c1": "nobody", "s0": "nobody", "c0": "nobody", "s1": "default/web u1"} {
		if got := whose(x, id); got != want {
			t.Errorf("%s is of %s, want %s", id, got, want)
		}
	}
}

// TestBounded: there is always room for one more, and running pods are kept before those that have stopped.
func TestBounded(t *testing.T) {
	x := NewIdentities()
	x.max = 10
	run := func(n int) {
		s := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Uid: fmt.Sprint("u", n)}}
		learn(t, x, &runtimeapi.RunPodSandboxRequest{Config: s}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: fmt.Sprint("s", n)})
	}
	for n := range 10 {
		run(n)
		if n > 2 {
			learn(t, x, &runtimeapi.StopPodSandboxRequest{PodSandboxId: fmt.Sprint("s", n)}, &runtimeapi.StopPodSandboxResponse{})
		}
	}
	run(10)
	for id, want := range map[string]bool{"s0": true, "s2": true, "s3": false, "s9": false, "s10": true} {
		if _, ok := x.Pod(id); ok != want {
			t.Errorf("%s is known: %v, want %v", id, ok, want)
		}
	}
	for n := range 100 {
		run(100 + n)
		if k := len(x.sandboxes) + len(x.containers); k > x.max {
			t.Fatalf("%d ids are known, the bound is %d", k, x.max)
		}
	}
}

// node is a runtime that has pods.
type node struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	sandboxes  []*runtimeapi.PodSandbox
	containers []*runtimeapi.Container
	between    func() // runs between the two lists
	lists      int
	err        error
}

func (n *node) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	n.lists++
	return &runtimeapi.ListPodSandboxResponse{Items: n.sandboxes}, n.err
}

func (n *node) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	if n.between != nil {
		n.between()
	}
	return &runtimeapi.ListContainersResponse{Containers: n.containers}, nil
}

func (n *node) pods(count, containers int, notes string) {
	for i := range count {
		md := &runtimeapi.PodSandboxMetadata{Name: fmt.Sprint("p", i), Namespace: "default", Uid: fmt.Sprint("n", i)}
		s := &runtimeapi.PodSandbox{
			Id: fmt.Sprintf("s%063d", i), Metadata: md, CreatedAt: 1e18, Annotations: map[string]string{probes.AnnotationSource: "api", "notes": notes},
			Labels: map[string]string{"app": "web", labelUID: md.Uid, labelName: md.Name, labelNamespace: md.Namespace},
		}
		n.sandboxes = append(n.sandboxes, s)
		for j := range containers {
			n.containers = append(n.containers, &runtimeapi.Container{
				Id: fmt.Sprintf("c%062d%d", i, j), PodSandboxId: s.Id, Metadata: &runtimeapi.ContainerMetadata{Name: fmt.Sprint("c", j)},
				Labels: s.Labels, Annotations: map[string]string{"notes": notes}, State: runtimeapi.ContainerState_CONTAINER_RUNNING,
				Image: nginx, ImageRef: "sha256:abc",
			})
		}
	}
}

func (n *node) serve(t testing.TB) *grpc.ClientConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, n)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestLoad(t *testing.T) {
	n := &node{}
	n.pods(3, 2, "")
	n.sandboxes[1].Annotations[probes.AnnotationSource] = "file"
	n.sandboxes[2].State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	n.containers[5].State = runtimeapi.ContainerState_CONTAINER_EXITED
	old := proto.Clone(n.sandboxes[0]).(*runtimeapi.PodSandbox)
	old.Id, old.CreatedAt, old.State = "old", 5, runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	foreign := &runtimeapi.PodSandbox{Id: "foreign"}
	n.sandboxes = append(n.sandboxes, old, foreign)
	// This pod came after the sandboxes were listed.
	n.containers = append(n.containers, &runtimeapi.Container{Id: "late", PodSandboxId: "late-s", Labels: map[string]string{labelUID: "u9", labelName: "late", labelNamespace: "x"}})

	x := NewIdentities()
	got, err := x.Load(t.Context(), n.serve(t))
	if err != nil || got != 4 {
		t.Fatalf("Load = %d, %v; want 4 pods", got, err)
	}
	pods := x.Pods()
	if len(pods) != 4 || pods[0].Name != "p0" || pods[3].Name != "late" {
		t.Fatalf("pods %+v", pods)
	}
	if !pods[0].Ready || pods[0].Sandbox == "old" || pods[0].Static() || !pods[0].Created.Equal(time.Unix(0, 1e18)) {
		t.Errorf("p0 is %+v", pods[0])
	}
	if !reflect.DeepEqual(pods[0].Labels, map[string]string{"app": "web"}) {
		t.Errorf("p0 has labels %v", pods[0].Labels)
	}
	if !pods[1].Static() || pods[2].Ready {
		t.Errorf("p1 is %+v, p2 %+v", pods[1], pods[2])
	}
	if got := whose(x, n.containers[5].Id); got != "default/p2 n2" {
		t.Errorf("the last container is of %s", got)
	}
	if why := x.Shared(decoded(t, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "old"})); why == "" {
		t.Error("who stops a sandbox that had stopped long ago may be held")
	}
	exited := 0
	for _, c := range x.Containers() {
		if c.Exited && c.Name == "c1" && c.Pod.Name == "p2" {
			exited++
		}
	}
	if exited != 1 || len(x.Containers()) != 7 {
		t.Errorf("containers %+v", x.Containers())
	}
}

// TestLoadMeanwhile: calls go on while the lists are read.
func TestLoadMeanwhile(t *testing.T) {
	n := &node{}
	n.pods(2, 1, "")
	x := NewIdentities()
	conn := n.serve(t)
	if _, err := x.Load(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	gone, removed := n.sandboxes[0].Id, n.containers[1].Id
	n.sandboxes, n.containers = n.sandboxes[1:], n.containers[1:]
	n.between = func() {
		learn(t, x, &runtimeapi.RunPodSandboxRequest{Config: sandbox1}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"})
		learn(t, x, &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", Config: container1, SandboxConfig: sandbox1}, &runtimeapi.CreateContainerResponse{ContainerId: "c1"})
		learn(t, x, &runtimeapi.RemoveContainerRequest{ContainerId: removed}, &runtimeapi.RemoveContainerResponse{})
		if done, err := x.Reload(t.Context(), conn); done || err != nil {
			t.Errorf("a second load went on beside: %v", err)
		}
	}
	if got, err := x.Load(t.Context(), conn); err != nil || got != 2 {
		t.Fatalf("Load = %d, %v; want 2 pods", got, err)
	}
	for id, want := range map[string]string{
		"s1": "default/web u1", "c1": "default/web u1", n.sandboxes[0].Id: "default/p1 n1", gone: "nobody", removed: "nobody",
	} {
		if got := whose(x, id); got != want {
			t.Errorf("%s is of %s, want %s", id, got, want)
		}
	}
}

func TestReload(t *testing.T) {
	n := &node{}
	n.pods(1, 1, "")
	x := NewIdentities()
	now := time.Unix(1000, 0)
	x.now = func() time.Time { return now }
	conn := n.serve(t)
	reload := func(want bool, lists int) {
		t.Helper()
		if done, err := x.Reload(t.Context(), conn); done != want || err != nil || n.lists != lists {
			t.Fatalf("Reload = %v, %v after %d lists; want %v and %d", done, err, n.lists, want, lists)
		}
	}
	reload(true, 1)
	reload(false, 1)
	now = now.Add(reloadAfter)
	reload(true, 2)
	// A list that fails removes nothing.
	now = now.Add(reloadAfter)
	n.err = status.Error(codes.Unavailable, "not now")
	if done, err := x.Reload(t.Context(), conn); done || err == nil {
		t.Errorf("Reload = %v, %v; want an error", done, err)
	}
	if got := whose(x, n.sandboxes[0].Id); got != "default/p0 n0" {
		t.Errorf("after a failed load the sandbox is of %s", got)
	}
}

// TestLoadLarge: the lists are larger than gRPC's default of 4 MiB.
func TestLoadLarge(t *testing.T) {
	n := &node{}
	n.pods(200, 3, string(make([]byte, 32<<10)))
	x := NewIdentities()
	if got, err := x.Load(t.Context(), n.serve(t)); err != nil || got != 200 {
		t.Errorf("Load = %d, %v; want 200 pods", got, err)
	}
}

func BenchmarkLoad(b *testing.B) {
	n := &node{}
	n.pods(1000, 3, `{"a pod's annotations": "some hundred bytes of them, which the lists carry too, once a sandbox and once a container"}`)
	conn := n.serve(b)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := NewIdentities().Load(b.Context(), conn); err != nil || got != 1000 {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	n := &node{}
	n.pods(1000, 3, "")
	x := NewIdentities()
	if _, err := x.Load(b.Context(), n.serve(b)); err != nil {
		b.Fatal(err)
	}
	id := n.containers[1500].Id
	b.ReportAllocs()
	for b.Loop() {
		if p, ok := x.Pod(id); !ok || p.Pod == (probes.Pod{}) {
			b.Fatal("not known")
		}
	}
}
