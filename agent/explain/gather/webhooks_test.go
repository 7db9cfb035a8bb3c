package gather

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// TestWebhooks: for a pod that has ended, the snapshot has the webhooks that are asked about
// its deletion, each with how many endpoints can answer.
func TestWebhooks(t *testing.T) {
	rules := func(op admissionv1.OperationType, resource string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{op}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	service := func(name string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "guards", Name: name}}
	}
	elsewhere := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "other"}}
	endpoints := func(ready ...bool) map[string]any {
		s := discoveryv1.EndpointSlice{}
		for _, r := range ready {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: new(r)}})
		}
		return map[string]any{"items": []discoveryv1.EndpointSlice{s}}
	}
	api := apitest.Start(t, apitest.Objects{
		"api/v1/namespaces/shop": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
		"apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": map[string]any{"items": []admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "guards"},
			Webhooks: []admissionv1.ValidatingWebhook{
				{Name: "silent", ClientConfig: service("silent"), Rules: rules(admissionv1.Delete, "pods")},
				{Name: "create", ClientConfig: service("silent"), Rules: rules(admissionv1.Create, "pods")},
				{Name: "other", ClientConfig: service("silent"), Rules: rules(admissionv1.Delete, "pods"), NamespaceSelector: elsewhere},
				{Name: "nodes", ClientConfig: service("silent"), Rules: rules(admissionv1.Delete, "nodes")},
			},
		}}},
		"apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": map[string]any{"items": []admissionv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "changers"},
			Webhooks: []admissionv1.MutatingWebhook{
				{Name: "well", ClientConfig: service("well"), Rules: rules(admissionv1.OperationAll, "*"), FailurePolicy: new(admissionv1.Ignore)},
				{Name: "url", ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://guard/")}, Rules: rules(admissionv1.Delete, "pods")},
			},
		}}},
		"apis/discovery.k8s.io/v1/namespaces/guards/endpointslices": endpoints(false),
	})
	s := evidence.Snapshot{Name: evidence.Name{Namespace: "shop", Name: "web"}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", DeletionTimestamp: new(metav1.Now())}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	newAsk(t.Context(), newMemo(api.Client(t)), &s).webhooks(p)
	want := []evidence.Webhook{
		{Configuration: "guards", Name: "silent", Fails: true, Service: "guards/silent"},
		{Configuration: "changers", Name: "well", Service: "guards/well"},
		{Configuration: "changers", Name: "url", Fails: true, Ready: -1},
	}
	if len(s.Cluster.Webhooks) != len(want) {
		t.Fatalf("%+v", s.Cluster.Webhooks)
	}
	for i := range want {
		if s.Cluster.Webhooks[i] != want[i] {
			t.Errorf("%+v, not %+v", s.Cluster.Webhooks[i], want[i])
		}
	}
}
