package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes"
)

// retryAnnotation is what podstep sets on a pod for a moment, so that its kubelet syncs it.
const retryAnnotation = "podstep.dev/retry"

// annotateWithin bounds each change of the pod.
const annotateWithin = 10 * time.Second

// annotate sets the annotation on a pod and takes it off again. It takes it off even if the person gives up meanwhile.
func annotate(ctx context.Context, api *kubeapi.Client, pod *probes.Pod, now time.Time) error {
	if err := patchRetry(ctx, api, pod, now.UTC().Format(time.RFC3339Nano)); err != nil {
		return fmt.Errorf("pod %s/%s was not changed: %w", pod.Namespace, pod.Name, err)
	}
	if err := patchRetry(context.WithoutCancel(ctx), api, pod, nil); err != nil && !kubeapi.IsCode(err, http.StatusNotFound) {
		return fmt.Errorf("the annotation stays on the pod (%w); take it off with kubectl annotate pod %s -n %s %s-", err, pod.Name, pod.Namespace, retryAnnotation)
	}
	return nil
}

// patchRetry sets the annotation on the pod of that uid; nil takes it off.
func patchRetry(ctx context.Context, api *kubeapi.Client, pod *probes.Pod, value any) error {
	ctx, cancel := context.WithTimeout(ctx, annotateWithin)
	defer cancel()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{retryAnnotation: value}}})
	if err != nil {
		return fmt.Errorf("write the annotation: %w", err)
	}
	at := path.Join("api/v1/namespaces", url.PathEscape(pod.Namespace), "pods", url.PathEscape(pod.Name))
	return api.Call(ctx, kubeapi.Request{Method: http.MethodPatch, Path: at, ContentType: "application/merge-patch+json", Body: body}, 0, nil)
}

// nextTry returns when the kubelet tries a pod again by itself, as far as podstep why knows it.
func (a *app) nextTry(ctx context.Context, pod *probes.Pod) *time.Time {
	from, _, err := a.sources(&whyFrom{}, false)
	if err != nil {
		return nil
	}
	answer, err := a.whyPod(ctx, from, pod.Namespace, &agentpb.PodSelector{Namespace: pod.Namespace, Name: pod.Name}, &whyFlags{})
	if err != nil {
		return nil
	}
	one, is := answer.(*oneAnswer)
	if !is {
		return nil
	}
	for _, f := range one.Findings {
		if f.Next.After(time.Now()) {
			return &f.Next
		}
	}
	return nil
}
