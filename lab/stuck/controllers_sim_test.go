//go:build sim

package stuck

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/agent/labtest"
)

// podTemplate returns the busybox pod as an owner's template.
func podTemplate(change func(*corev1.Pod)) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	p := labtest.BusyboxPod("", labtest.Sleep)
	if change != nil {
		change(p)
	}
	labels := map[string]string{"app": "web"}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: p.Spec}, &metav1.LabelSelector{MatchLabels: labels}
}

// deployment creates a Deployment. change changes the template's pod.
func (e *Env) deployment(replicas int32, change func(*corev1.Pod), more ...func(*appsv1.Deployment)) {
	e.T.Helper()
	template, selector := podTemplate(change)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: template, Selector: selector}}
	for _, m := range more {
		m(d)
	}
	if _, err := e.Client.AppsV1().Deployments(e.Namespace).Create(e.Context(), d, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func (e *Env) job(change func(*batchv1.Job)) {
	e.T.Helper()
	template, _ := podTemplate(nil)
	template.Labels = nil
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: batchv1.JobSpec{Template: template}}
	change(j)
	if _, err := e.Client.BatchV1().Jobs(e.Namespace).Create(e.Context(), j, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func (e *Env) quota(hard corev1.ResourceList) {
	e.T.Helper()
	quotas := e.Client.CoreV1().ResourceQuotas(e.Namespace)
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if _, err := quotas.Create(e.Context(), q, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	labtest.Eventually(e.T, "the quota is counted", func() bool {
		q, err := quotas.Get(e.Context(), "small", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
}

// deafWebhook makes the API server ask a webhook about each new pod of the case's namespace. Nothing answers there.
func (e *Env) deafWebhook() {
	e.T.Helper()
	e.webhook(admissionv1.Create, "pods")
	labtest.Eventually(e.T, "asked by the API server: the webhook", func() bool {
		probe := labtest.BusyboxPod("probe", labtest.Sleep)
		probe.Namespace = e.Namespace
		_, err := e.Client.CoreV1().Pods(e.Namespace).Create(e.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "failed calling webhook")
	})
}

// TestControllers: an owner has no pods, and the reason is found.
func TestControllers(t *testing.T) {
	for _, c := range []struct {
		kind string
		Case
	}{
		{"deployment", Case{Cause: "controllers.quota", Make: func(e *Env) {
			e.quota(corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")})
			e.deployment(1, nil)
		}}},
		{"deployment", Case{Cause: "controllers.quotaNeedsRequests", Make: func(e *Env) {
			e.quota(corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1")})
			e.deployment(1, nil)
		}}},
		{"deployment", Case{Cause: "controllers.serviceAccountMissing", Make: func(e *Env) {
			e.deployment(1, func(p *corev1.Pod) { p.Spec.ServiceAccountName = "builder" })
		}}},
		{"deployment", Case{Cause: "controllers.priorityClassMissing", Make: func(e *Env) {
			e.deployment(1, func(p *corev1.Pod) { p.Spec.PriorityClassName = "urgent-one" })
		}}},
		{"deployment", Case{Cause: "controllers.runtimeClassMissing", Make: func(e *Env) {
			name := "gvisor"
			e.deployment(1, func(p *corev1.Pod) { p.Spec.RuntimeClassName = &name })
		}}},
		{"job", Case{Cause: "controllers.podSecurity", Make: func(e *Env) {
			ns, err := e.Client.CoreV1().Namespaces().Get(e.Context(), e.Namespace, metav1.GetOptions{})
			if err != nil {
				e.T.Fatal(err)
			}
			ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
			if _, err := e.Client.CoreV1().Namespaces().Update(e.Context(), ns, metav1.UpdateOptions{}); err != nil {
				e.T.Fatal(err)
			}
			e.job(func(*batchv1.Job) {})
		}}},
		{"deployment", Case{Cause: "controllers.limitRange", Make: func(e *Env) {
			l := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			}}}}
			if _, err := e.Client.CoreV1().LimitRanges(e.Namespace).Create(e.Context(), l, metav1.CreateOptions{}); err != nil {
				e.T.Fatal(err)
			}
			e.deployment(1, asking(corev1.ResourceCPU, "2"))
		}}},
		{"deployment", Case{Cause: "controllers.webhookFails", Make: func(e *Env) {
			e.deafWebhook()
			e.deployment(1, nil)
		}}},
		{"deployment", Case{Cause: "controllers.paused", Make: func(e *Env) {
			e.deployment(1, nil, func(d *appsv1.Deployment) { d.Spec.Paused = true })
		}}},
		{"deployment", Case{Cause: "controllers.scaledToZero", Make: func(e *Env) { e.deployment(0, nil) }}},
		{"job", Case{Cause: "controllers.suspended", Make: func(e *Env) {
			yes := true
			e.job(func(j *batchv1.Job) { j.Spec.Suspend = &yes })
		}}},
		{"job", Case{Cause: "controllers.jobFailed", Make: func(e *Env) {
			none := int32(0)
			e.job(func(j *batchv1.Job) {
				j.Spec.BackoffLimit = &none
				j.Spec.Template.Spec.Containers[0].Command = []string{"sh", "-c", "exit 3"}
			})
		}}},
		{"daemonset", Case{Cause: "controllers.noNodes", Make: func(e *Env) {
			template, selector := podTemplate(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DaemonSetSpec{Template: template, Selector: selector}}
			if _, err := e.Client.AppsV1().DaemonSets(e.Namespace).Create(e.Context(), d, metav1.CreateOptions{}); err != nil {
				e.T.Fatal(err)
			}
		}}},
	} {
		t.Run(c.Cause, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, shared.For(t).For(t), c.Cause)
			c.Make(e)
			e.Watch("web")
			c.checkOwner(e, c.kind)
		})
	}
}

// checkOwner asks about an owner until the cause is named.
func (c *Case) checkOwner(e *Env, kind string) {
	e.T.Helper()
	from := simSources(e.T, e.Lab, API)
	labtest.Eventually(e.T, c.Cause+" is named first", func() bool {
		many, err := from.Owner(e.Context(), kind, e.watched)
		if err != nil {
			e.T.Fatal(err)
		}
		s := many.Owners[len(many.Owners)-1]
		r := causes.Explain(s)
		switch id := firstOf(r); id {
		case c.Cause:
			c.record(e.T, "lab", recording.Sight{Way: API, Snapshot: s})
			return true
		case "":
		default:
			e.T.Fatalf("%s is named first: %s", id, show(r, s))
		}
		return false
	})
}
