package far

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeapi"
)

// The marks of a pod that a person's podstep made for a while.
const (
	temporaryLabel  = "podstep.dev/temporary"
	ownerAnnotation = "podstep.dev/owner"
)

// grace is how long podstep attach may take to detach, as in the chart's DaemonSet: the call that stops the pod is one of
// those that it waits for.
const grace = 60 * time.Second

// maxObject bounds what is read for one object, in bytes.
const maxObject = 8 << 20

// PodOptions say which pod podstep makes for a while.
type PodOptions struct {
	Namespace string
	// Node is where the pod runs. No scheduler is asked.
	Node string
	// Image has podstep.
	Image string
	// For is how long the pod may run at most.
	For time.Duration
	// AllowHolds lets pods be held; otherwise the agent only looks. Passive puts nothing in the path of the kubelet's calls.
	AllowHolds, Passive bool
	// More are more flags for podstep attach.
	More []string
	// Owner is the user who makes the pod, by the name of the API server.
	Owner string
}

// Pod returns the pod: that of the chart's DaemonSet, but without a controller, for a while, and on a node that may have
// no room.
func (o *PodOptions) Pod() *corev1.Pod {
	directory, orNew := corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate
	host := func(name, path string, t *corev1.HostPathType) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: t}}}
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "podstep-", Namespace: o.Namespace,
			Labels:      map[string]string{nameLabel: nameValue, temporaryLabel: "true"},
			Annotations: map[string]string{ownerAnnotation: o.Owner},
		},
		Spec: corev1.PodSpec{
			NodeName: o.Node, HostPID: true, HostNetwork: true, DNSPolicy: corev1.DNSDefault,
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: new(int64(o.For / time.Second)),
			TerminationGracePeriodSeconds: new(int64(grace / time.Second)),
			AutomountServiceAccountToken:  new(false), EnableServiceLinks: new(false),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			// Without requests, a node that is full takes the pod as well.
			Containers: []corev1.Container{{
				Name: container, Image: o.Image, Command: []string{"podstep", "attach"}, Args: o.args(),
				SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
				VolumeMounts:    []corev1.VolumeMount{{Name: "run", MountPath: "/run/podstep"}, {Name: "cgroup", MountPath: "/sys/fs/cgroup"}},
			}},
			// The second is for the processes in the path of the kubelet's calls: they leave the pod's control group.
			Volumes: []corev1.Volume{host("run", "/run/podstep", &orNew), host("cgroup", "/sys/fs/cgroup", &directory)},
		},
	}
}

func (o *PodOptions) args() []string {
	may := "--read-only"
	if o.AllowHolds {
		may = "--allow-holds"
	}
	args := []string{"--no-tui", "--node=" + o.Node, may}
	if o.AllowHolds {
		// A person with exec in this pod is root on the node anyway, and there may be no ServiceAccounts.
		args = append(args, "--without-token=hold")
	}
	args = append(args, "--token-namespace="+o.Namespace)
	if o.Passive {
		args = append(args, "--passive")
	}
	return append(args, o.More...)
}

// Make makes the pod. Errors are those of the API server.
func (c *Cluster) Make(ctx context.Context, o *PodOptions) (*Agent, error) {
	body, err := json.Marshal(o.Pod())
	if err != nil {
		return nil, err
	}
	var made corev1.Pod
	err = c.api.Call(ctx, kubeapi.Request{
		Method: http.MethodPost, Path: podsPath(o.Namespace), Query: url.Values{"fieldManager": {"podstep"}},
		ContentType: "application/json", Body: body,
	}, maxObject, &made)
	if err != nil {
		return nil, err
	}
	a := newAgent(&made)
	return &a, nil
}

// Remove deletes an agent's pod, unless another pod has its name by now. A pod that is gone is no error.
func (c *Cluster) Remove(ctx context.Context, a *Agent) error {
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: metav1.NewUIDPreconditions(a.UID),
	})
	if err != nil {
		return err
	}
	err = c.api.Call(ctx, kubeapi.Request{Method: http.MethodDelete, Path: podsPath(a.Namespace, a.Name), ContentType: "application/json", Body: body}, 0, nil)
	if kubeapi.IsCode(err, http.StatusNotFound, http.StatusConflict) {
		return nil
	}
	return err
}

// NodeOf returns the node of a pod. Errors are those of the API server; a pod that has no node yet is one.
func (c *Cluster) NodeOf(ctx context.Context, namespace, name string) (string, error) {
	var pod corev1.Pod
	if err := c.api.Call(ctx, kubeapi.Request{Path: podsPath(namespace, name)}, maxObject, &pod); err != nil {
		return "", c.explain(ctx, err, findRole)
	}
	if pod.Spec.NodeName == "" {
		return "", fmt.Errorf("pod %s/%s is on no node yet; podstep why %[1]s/%[2]s says why", namespace, name)
	}
	return pod.Spec.NodeName, nil
}

// IsPodSecurity reports whether an error is the refusal of a privileged pod by the namespace's Pod Security level.
func IsPodSecurity(err error) bool {
	var status *kubeapi.StatusError
	return errors.As(err, &status) && status.Code == http.StatusForbidden && strings.Contains(status.Message, "violates PodSecurity")
}

// Log returns the last lines that an agent's pod has written; "" if they cannot be read.
func (c *Cluster) Log(ctx context.Context, a *Agent) string {
	resp, err := c.api.Open(ctx, kubeapi.Request{Path: podsPath(a.Namespace, a.Name, "log"), Query: url.Values{"container": {container}, "tailLines": {"3"}}})
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(&kubeapi.Bounded{R: resp.Body, Left: maxErrors})
	return line(text.String())
}

// podsPath returns the path of the pods of a namespace, or of what is below them.
func podsPath(namespace string, below ...string) string {
	path := "api/v1/namespaces/" + url.PathEscape(namespace) + "/pods"
	for _, name := range below {
		path += "/" + url.PathEscape(name)
	}
	return path
}
