//go:build sim

package stuck

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// asked are the resources that `why` reads, by group, for a pod that refers to all of them.
var asked = map[string][]string{
	"":                      {"pods", "events", "nodes", "persistentvolumeclaims", "persistentvolumes", "secrets", "configmaps", "serviceaccounts", "namespaces"},
	"apps":                  {"replicasets", "deployments"},
	"coordination.k8s.io":   {"leases"},
	"storage.k8s.io":        {"storageclasses", "volumeattachments", "csinodes", "csidrivers"},
	"policy":                {"poddisruptionbudgets"},
	"scheduling.k8s.io":     {"priorityclasses"},
	"node.k8s.io":           {"runtimeclasses"},
	"resource.k8s.io":       {"resourceclaims", "deviceclasses"},
	"discovery.k8s.io":      {"endpointslices"},
	"authentication.k8s.io": {},

	"admissionregistration.k8s.io": {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
}

// TestPermissions: each permission is taken away in turn. `why` still answers, names what it could not see, and names
// no wrong cause.
func TestPermissions(t *testing.T) {
	l := shared.For(t)
	e := newEnv(t, l, "permissions")
	e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = "busybox:no-such-tag"
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	})
	e.Until("waiting", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
			strings.HasPrefix(p.Status.ContainerStatuses[0].State.Waiting.Reason, "ErrImagePull")
	})
	for _, resources := range asked {
		for _, of := range resources {
			if causes.RightAdds(of) == (probes.Text{}) {
				t.Errorf("there is no text on the right to read %s", of)
			}
		}
	}
	for _, without := range []string{"pods", "events", "nodes", "leases", "secrets", "serviceaccounts", "poddisruptionbudgets"} {
		t.Run(without, func(t *testing.T) {
			t.Parallel()
			s := gather.From{API: e.as(t, without)}.Pod(t.Context(), e.watched)
			if !slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return u.Why == evidence.Forbidden }) {
				t.Errorf("it is not said that %s may not be read: %+v", without, s.Unseen)
			}
			if rights := causes.MissingRights(s.Unseen); !slices.ContainsFunc(rights, func(r causes.Right) bool { return strings.Contains(r.Right, " "+without) }) {
				t.Errorf("it is not said what the right to read %s would add: %+v of %+v", without, rights, s.Unseen)
			}
			r := causes.Explain(s)
			switch {
			case without == "pods" && firstOf(r) != "" && firstOf(r) != "image.notFound":
				t.Errorf("without pods %s is found", firstOf(r))
			case without != "pods" && firstOf(r) != "image.notFound":
				t.Errorf("without %s: %s", without, show(r, s))
			}
		})
	}
}

// as returns a client of a user who may read all kinds but one.
func (e *Env) as(t *testing.T, without string) *kubeapi.Client {
	t.Helper()
	name := "without-" + without
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for group, resources := range asked {
		left := slices.DeleteFunc(slices.Clone(resources), func(r string) bool { return r == without })
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: left, Verbs: []string{"get", "list"}})
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
	rbac := e.Client.RbacV1()
	if _, err := rbac.ClusterRoles().Create(e.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := rbac.ClusterRoleBindings().Create(e.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", e.State.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	c, err := kubeapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer sees the new role a little later.
	allowed := "api/v1/namespaces/" + e.Namespace + "/events"
	if without == "events" {
		allowed = "api/v1/namespaces/" + e.Namespace + "/pods"
	}
	labtest.Eventually(t, "permission of "+name, func() bool { return c.Call(t.Context(), kubeapi.Request{Path: allowed}, 1<<24, nil) == nil })
	return c
}
