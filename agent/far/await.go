package far

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi"
)

const (
	// lookEvery is how often a pod is looked at that is to start.
	lookEvery = time.Second
	// silentAfter is how long a kubelet that works may take to notice a pod.
	silentAfter = 15 * time.Second
)

// StartError is the reason why an agent's pod does not start.
type StartError struct{ Why string }

func (e *StartError) Error() string { return e.Why }

// Await waits until the agent in a pod can be reached, and returns a connection to it. print gets a line whenever there is
// something new to wait for. Await fails with a *StartError if the pod cannot start, or does not within the time.
func (c *Cluster) Await(ctx context.Context, a *Agent, within time.Duration, print func(string)) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	w := &waiting{c: c, a: a, print: print, since: time.Now()}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		conn, err := w.look(ctx)
		switch {
		case conn != nil:
			return conn, nil
		case context.Cause(ctx) == context.Canceled:
			return nil, context.Canceled
		case err != nil:
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return nil, context.Canceled
			}
			return nil, &StartError{fmt.Sprintf("pod %s has not started within %s: %s", a, within, cmp.Or(w.last, "the API server does not say why"))}
		}
	}
}

// waiting is the wait for a pod to start.
type waiting struct {
	c     *Cluster
	a     *Agent
	print func(string)
	since time.Time
	last  string
}

// look looks at the pod once. It returns a connection if the agent answers, and an error if it never will.
func (w *waiting) look(ctx context.Context) (*client.Client, error) {
	var pod corev1.Pod
	err := w.c.api.Call(ctx, kubeapi.Request{Path: podsPath(w.a.Namespace, w.a.Name)}, maxObject, &pod)
	switch {
	case kubeapi.IsCode(err, http.StatusNotFound), err == nil && (string(pod.UID) != w.a.UID || pod.DeletionTimestamp != nil):
		return nil, &StartError{fmt.Sprintf("somebody has deleted pod %s", w.a)}
	case err != nil:
		w.report(fmt.Sprintf("the API server does not answer about pod %s: %v", w.a, err))
		return nil, nil
	}
	s := statusOf(&pod)
	switch {
	case s != nil && s.State.Running != nil:
		conn, err := client.Reach(ctx, w.c.InPod(w.a))
		if err != nil {
			w.report(fmt.Sprintf("podstep begins to look at the kubelet of node %s (%v)", w.a.Node, err))
		}
		return conn, nil
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || s != nil && s.State.Terminated != nil:
		return nil, &StartError{w.ended(ctx, &pod, s)}
	case s != nil && s.State.Waiting != nil && neverPulls(s.State.Waiting.Reason):
		return nil, &StartError{fmt.Sprintf("node %s cannot get the image %s: %s", w.a.Node, s.Image, line(cmp.Or(s.State.Waiting.Message, s.State.Waiting.Reason)))}
	}
	w.report(w.pending(ctx, &pod, s))
	return nil, nil
}

func (w *waiting) report(text string) {
	if text != w.last {
		w.last = text
		w.print(text)
	}
}

// pending says what a pod waits for that does not run yet.
func (w *waiting) pending(ctx context.Context, pod *corev1.Pod, s *corev1.ContainerStatus) string {
	if pod.Status.StartTime == nil {
		if time.Since(w.since) < silentAfter {
			return fmt.Sprintf("waiting for the kubelet of node %s", w.a.Node)
		}
		return fmt.Sprintf("the kubelet of node %s has not noticed the pod%s: a kubelet that stands still starts no podstep either", w.a.Node, w.nodeTrouble(ctx))
	}
	if event := w.warning(ctx); event != "" {
		return event
	}
	if s != nil && s.State.Waiting != nil && s.State.Waiting.Reason != "" {
		return fmt.Sprintf("the kubelet of node %s starts the pod: %s", w.a.Node, line(s.State.Waiting.Reason+" "+s.State.Waiting.Message))
	}
	return fmt.Sprintf("the kubelet of node %s starts the pod", w.a.Node)
}

// nodeTrouble returns what the node's Ready condition says unless all is well, for the middle of a sentence.
func (w *waiting) nodeTrouble(ctx context.Context) string {
	var node corev1.Node
	if w.c.api.Call(ctx, kubeapi.Request{Path: "api/v1/nodes/" + url.PathEscape(w.a.Node)}, maxObject, &node) != nil {
		return ""
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return fmt.Sprintf(", and the node is not ready (%s)", line(c.Reason+": "+c.Message))
		}
	}
	return ""
}

// warning returns the last warning about the pod; "" if there is none or it cannot be read.
func (w *waiting) warning(ctx context.Context) (text string) {
	query := url.Values{"fieldSelector": {"involvedObject.uid=" + w.a.UID + ",type=Warning"}}
	_, _ = kubeapi.List(ctx, w.c.api, "api/v1/namespaces/"+url.PathEscape(w.a.Namespace)+"/events", query, func(e *corev1.Event) {
		text = line(e.Reason + ": " + e.Message)
	})
	return text
}

// ended says why a pod runs no more.
func (w *waiting) ended(ctx context.Context, pod *corev1.Pod, s *corev1.ContainerStatus) string {
	why := line(pod.Status.Reason + " " + pod.Status.Message)
	if s != nil && s.State.Terminated != nil {
		why = fmt.Sprintf("its podstep ended with exit code %d", s.State.Terminated.ExitCode)
		if log := w.c.Log(ctx, w.a); log != "" {
			why += ": " + log
		}
	}
	return fmt.Sprintf("pod %s has ended: %s", w.a, cmp.Or(why, "the API server does not say why"))
}

// neverPulls reports whether a container that waits for this reason waits in vain. After ErrImagePull the kubelet tries
// again, but a person who waits at a terminal should know.
func neverPulls(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError":
		return true
	}
	return false
}

func statusOf(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}
