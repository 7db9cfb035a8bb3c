package gather

import (
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// hanging does not answer requests whose path contains part.
func hanging(part string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, part) {
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	})
}

func listOf(items ...any) any { return map[string]any{"items": items} }

// richPod refers to one object of each kind that is asked for.
func richPod() *corev1.Pod {
	yes, class := true, "gvisor"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "u-1", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Minute)),
			Annotations:     map[string]string{"note": canaryOf("annotation")},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: "web", RuntimeClassName: &class, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &class}},
			Containers: []corev1.Container{{
				Name: "app", Image: "busybox", Command: []string{"sh", "-c", canaryOf("command")}, Args: []string{canaryOf("argument")},
				Env: []corev1.EnvVar{
					{Name: "PASSWORD", Value: canaryOf("env")},
					{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password"}}},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: "/?token=" + canaryOf("query"), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: canaryOf("header")}},
				}}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check", canaryOf("probe")}}}},
				Lifecycle:     &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"stop", canaryOf("hook")}}}},
			}},
			Volumes: []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db"}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name:  "app",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 1, Reason: "Error", Message: canaryOf("termination message"),
				}},
			}},
		},
	}
}

// canaryOf returns a value that stands where secrets are.
func canaryOf(where string) string {
	return "canary-" + strings.ReplaceAll(where, " ", "-") + "-7f3a9c"
}

// richCluster has all that richPod refers to.
func richCluster() apitest.Objects {
	p := richPod()
	event := corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web", UID: "u-1"}, Type: "Warning", Reason: "Unhealthy",
		Message:       "Readiness probe failed: " + canaryOf("probe output"),
		LastTimestamp: metav1.Now(), FirstTimestamp: metav1.Now(), Count: 3,
	}
	return apitest.Objects{
		"api/v1/namespaces/shop/pods/web": p,
		"api/v1/namespaces/shop/pods":     listOf(p),
		"api/v1/namespaces/shop/events":   listOf(event),
		"apis/apps/v1/namespaces/shop/replicasets/web-1": map[string]any{
			"metadata": map[string]any{"uid": "rs", "name": "web-1"}, "spec": map[string]any{"replicas": 2}, "status": map[string]any{"replicas": 1},
		},
		"api/v1/nodes/node-1": corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		"apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1": map[string]any{"metadata": map[string]any{"name": "node-1"}},
		"api/v1/namespaces/shop/persistentvolumeclaims/data":                   map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"volumeName": "pv-1", "storageClassName": "fast"}},
		"api/v1/persistentvolumes/pv-1":                                        map[string]any{"metadata": map[string]any{"name": "pv-1"}},
		"apis/storage.k8s.io/v1/storageclasses/fast":                           map[string]any{"metadata": map[string]any{"name": "fast"}, "parameters": map[string]any{"secret": canaryOf("class parameter")}},
		"apis/storage.k8s.io/v1/csinodes/node-1":                               map[string]any{"metadata": map[string]any{"name": "node-1"}},
		"apis/storage.k8s.io/v1/csidrivers":                                    listOf(),
		"apis/storage.k8s.io/v1/volumeattachments":                             listOf(),
		"api/v1/namespaces/shop/secrets/db":                                    map[string]any{"metadata": map[string]any{"name": "db"}, "type": "Opaque", "data": map[string]any{"password": canaryOf("secret")}},
		"api/v1/namespaces/shop/secrets/pull":                                  map[string]any{"metadata": map[string]any{"name": "pull"}, "data": map[string]any{".dockerconfigjson": canaryOf("pull secret")}},
		"api/v1/namespaces/shop/configmaps/settings":                           map[string]any{"metadata": map[string]any{"name": "settings"}, "data": map[string]any{"a.conf": canaryOf("config")}, "binaryData": map[string]any{"b.bin": canaryOf("binary")}},
		"api/v1/namespaces/shop/serviceaccounts/web":                           map[string]any{"metadata": map[string]any{"name": "web"}},
		"apis/node.k8s.io/v1/runtimeclasses/gvisor":                            map[string]any{"metadata": map[string]any{"name": "gvisor"}, "handler": "runsc"},
		"apis/resource.k8s.io/v1/namespaces/shop/resourceclaims/gvisor":        map[string]any{"metadata": map[string]any{"name": "gvisor"}},
		"apis/resource.k8s.io/v1/deviceclasses":                                listOf(map[string]any{"metadata": map[string]any{"name": "gpu"}}),
		"apis/policy/v1/namespaces/shop/poddisruptionbudgets":                  listOf(),
	}
}
