//go:build node

package soak

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/podstep/podstep/agent/labtest"
)

// keepBusy makes the kubelet work on running pods. By itself it looks at them only now and then.
func (s *soak) keepBusy(ctx context.Context, r *rand.Rand) {
	name := s.pods.random(r)
	pods := s.l.Client.CoreV1().Pods("default")
	switch r.IntN(8) {
	case 3:
		if s.exec(ctx, name) == nil {
			s.counts.add("commands run in pods", 1)
		}
	case 0:
		_, _ = pods.GetLogs(name, &corev1.PodLogOptions{Container: "app"}).DoRaw(ctx)
	case 1:
		patch := []byte(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"` + []string{"10m", "20m", "30m"}[r.IntN(3)] + `"}}}]}}`)
		if rec := s.pods.get(name); rec != nil && rec.kind == "sized" {
			_, err := pods.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "resize")
			if err == nil {
				s.counts.add("pods resized", 1)
			}
		}
	case 2:
		p, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil || p.DeletionTimestamp != nil || p.Labels["kind"] != "plain" {
			return
		}
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debugger", Image: labtest.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"true"},
			Env: []corev1.EnvVar{{Name: "PLAIN", Value: secret("ephemeral")}},
		}})
		if _, err := pods.UpdateEphemeralContainers(ctx, name, p, metav1.UpdateOptions{}); err == nil {
			s.counts.add("ephemeral containers", 1)
		}
	default:
		patch := []byte(`{"metadata":{"annotations":{"nudge":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`)
		_, _ = pods.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}) // it may be gone
	}
}

// exec runs a command in a pod, through the API server and the kubelet.
func (s *soak) exec(ctx context.Context, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.l.State.Kubeconfig)
	if err != nil {
		return err
	}
	req := s.l.Client.CoreV1().RESTClient().Get().Namespace("default").Resource("pods").Name(name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "app", Command: []string{"echo", "here"}, Stdout: true}, scheme.ParameterCodec)
	e, err := remotecommand.NewWebSocketExecutor(config, "GET", req.URL().String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longestLease)
	defer cancel()
	return e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard})
}
