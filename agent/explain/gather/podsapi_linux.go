package gather

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	podsapi "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// PodsAPI is the socket of a kubelet on this machine from which it hands out its pods: on by default from v1.37 on, alpha in v1.36.
// Unlike /pods it has the status that the kubelet itself has made, and needs no right at the API server.
type PodsAPI struct{ Near *Nearby }

// podsSocket is the socket's name below the kubelet's root directory.
const podsSocket = "pods-api/pods-api.sock"

// Names names the source.
func (*PodsAPI) Names() (evidence.Source, string) { return evidence.Port, "pods-api" }

// Look asks for the pod. A kubelet without the socket needs no word: most have none.
func (p *PodsAPI) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	source, what := p.Names()
	k, err := p.Near.kubelet(ctx, of)
	if err != nil {
		return nil // the source Kubelet asks the same kubelet, and says why it is not here
	}
	conn, err := dialSocket(ctx, k, path.Join(k.RootDir, podsSocket))
	if quiet(err) {
		return nil
	}
	if err != nil {
		return missedNear(source, what, err)
	}
	defer conn.Close()
	pod, err := podFrom(ctx, podsapi.NewPodsClient(conn), of)
	if err != nil {
		return missedNear(source, what, plainError(err))
	}
	return func(s *evidence.Snapshot) {
		s.Saw(source, what, time.Now())
		if s.Kubelet == nil {
			s.Kubelet = &evidence.Kubelet{}
		}
		if s.Kubelet.HasPod == nil {
			has := pod != nil
			s.Kubelet.HasPod = &has
		}
		if pod == nil {
			return
		}
		shown := trimmed(pod)
		s.Kubelet.Status = &shown.Status
		if s.KubeletPod == nil {
			s.KubeletPod = shown
		}
	}
}

// podFrom returns nil if the kubelet does not have the pod.
func podFrom(ctx context.Context, from podsapi.PodsClient, of *Subject) (*corev1.Pod, error) {
	if uid := of.Kubelet.UID; uid != "" {
		answer, err := from.GetPod(ctx, &podsapi.GetPodRequest{PodUID: uid})
		if status.Code(err) == codes.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return decodedPod(answer.Pod)
	}
	answer, err := from.ListPods(ctx, &podsapi.ListPodsRequest{})
	if err != nil {
		return nil, err
	}
	for _, raw := range answer.Pods {
		if pod, err := decodedPod(raw); err != nil || isIt(pod, of) {
			return pod, err
		}
	}
	return nil, nil
}

func decodedPod(raw []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, pod.Unmarshal(raw)
}
