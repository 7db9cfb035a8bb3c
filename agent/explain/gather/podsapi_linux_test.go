package gather

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsapi "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/kubelets"
)

// podsServer serves one pod as a kubelet does.
type podsServer struct {
	podsapi.UnimplementedPodsServer
	pod *corev1.Pod
	err error
}

func (s *podsServer) ListPods(context.Context, *podsapi.ListPodsRequest) (*podsapi.ListPodsResponse, error) {
	raw, err := s.pod.Marshal()
	if err != nil {
		return nil, err
	}
	return &podsapi.ListPodsResponse{Pods: [][]byte{raw}}, s.err
}

func (s *podsServer) GetPod(_ context.Context, r *podsapi.GetPodRequest) (*podsapi.GetPodResponse, error) {
	if r.PodUID != string(s.pod.UID) {
		return nil, status.Error(codes.NotFound, "no such pod")
	}
	raw, err := s.pod.Marshal()
	if err != nil {
		return nil, err
	}
	return &podsapi.GetPodResponse{Pod: raw}, s.err
}

// servePods returns a kubelet, this process, whose pods API has a pod.
func servePods(t *testing.T, s *podsServer) *Nearby {
	t.Helper()
	k := kubelets.Kubelet{PID: os.Getpid(), Root: "/", RootDir: t.TempDir()}
	socket := filepath.Join(k.RootDir, podsSocket)
	if err := os.Mkdir(filepath.Dir(socket), 0o750); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := grpc.NewServer()
	podsapi.RegisterPodsServer(served, s)
	go func() { _ = served.Serve(l) }()
	t.Cleanup(served.Stop)
	near := &Nearby{PID: k.PID, all: []kubelets.Kubelet{k}}
	near.once.Do(func() {})
	return near
}

func TestPodsAPI(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}, Status: corev1.PodStatus{
		Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "printed by the program"}}}}}}
	s := &podsServer{pod: pod}
	near := servePods(t, s)
	name := evidence.Name{Namespace: "shop", Name: "web"}
	look := func(uid string) *evidence.Snapshot {
		out := &evidence.Snapshot{Name: name}
		kubelet := name
		kubelet.UID = uid
		if fill := (&PodsAPI{near}).Look(t.Context(), &Subject{Name: name, Kubelet: kubelet, Snapshot: out}); fill != nil {
			fill(out)
		}
		return out
	}
	for _, uid := range []string{"u1", ""} {
		got := look(uid)
		if got.Kubelet == nil || !*got.Kubelet.HasPod || got.Kubelet.Status.Phase != corev1.PodFailed || got.KubeletPod.Name != "web" {
			t.Fatalf("UID %q: %+v", uid, got)
		}
		if m := got.Kubelet.Status.ContainerStatuses[0].State.Terminated.Message; m != "" {
			t.Errorf("the program's message is kept: %q", m)
		}
	}
	if got := look("u2"); got.Kubelet == nil || *got.Kubelet.HasPod || got.KubeletPod != nil {
		t.Errorf("a pod that the kubelet does not have: %+v", got)
	}
	s.err = status.Error(codes.FailedPrecondition, "Kubelet is initializing")
	if got := look("u1"); got.Kubelet != nil || len(got.Unseen) != 1 || got.Unseen[0].What != "pods-api" {
		t.Errorf("a kubelet that starts: %+v", got)
	}
	near.all[0].RootDir = t.TempDir()
	if got := look("u1"); got.Kubelet != nil || len(got.Unseen) > 0 {
		t.Errorf("a kubelet without the socket: %+v", got)
	}
}

// TestJoinKubelet: what the pods API says stays, whichever source answers first.
func TestJoinKubelet(t *testing.T) {
	no, status := false, &corev1.PodStatus{Phase: corev1.PodRunning}
	for _, port := range []evidence.Kubelet{{Healthz: "ok"}, {Healthz: "ok", HasPod: &no}} {
		yes := true
		s := &evidence.Snapshot{Kubelet: &evidence.Kubelet{HasPod: &yes, Status: status}}
		p := &part{s: evidence.Snapshot{Kubelet: &port}}
		p.give()(s)
		if s.Kubelet.Healthz != "ok" || s.Kubelet.Status != status || s.Kubelet.HasPod == nil {
			t.Errorf("%+v", s.Kubelet)
		}
	}
}
