//go:build sim

package stuck

import (
	"context"
	"maps"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/labtest"
)

// server creates a pod with one container that the simulated runtime takes for a server. annotations state how it
// behaves.
func (e *Env) server(annotations map[string]string, change func(*corev1.Pod, *corev1.Container)) *corev1.Pod {
	e.T.Helper()
	return e.Busybox("", func(p *corev1.Pod) {
		p.Annotations = maps.Clone(annotations)
		c := &p.Spec.Containers[0]
		c.Command = []string{"server"}
		c.Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
		change(p, c)
	})
}

// sim returns annotations with these names and values, in turn.
func sim(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out["sim.podstep.dev/"+pairs[i]] = pairs[i+1]
	}
	return out
}

func httpProbe(port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: port}}}
}

func execProbe() *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check", "--all"}}}}
}

// readiness makes a server whose readiness probe fails.
func readiness(probe *corev1.Probe, annotations ...string) func(*Env) {
	return func(e *Env) {
		e.server(sim(annotations...), func(_ *corev1.Pod, c *corev1.Container) { c.ReadinessProbe = probe })
	}
}

func TestReady(t *testing.T) {
	declared := intstr.FromInt32(8080)
	inLab(t, []Case{
		{Cause: "ready.oomKilledLately", Meanwhile: []string{"start.*"}, Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				faultOf(p, "oom-after", "15s")
				p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
			})
		}},
		{Cause: "ready.endedLately", Meanwhile: []string{"start.*"}, Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Annotations = sim("exit", "7", "exit-after", "15s") })
		}},
		{Cause: "ready.probeRefused", Make: readiness(httpProbe(declared), "ready-after", "forever")},
		{Cause: "ready.probeStatus", Make: readiness(httpProbe(declared), "http-status", "503")},
		{Cause: "ready.probeStatus", Name: "later", Make: readiness(httpProbe(declared), "unhealthy-after", "6s")},
		{Cause: "ready.probeTimeout", Make: readiness(execProbe(), "exec-delay", "forever")},
		{Cause: "ready.probeExec", Make: readiness(execProbe(), "exec-exit", "3")},
		{Cause: "ready.probePort", Make: readiness(httpProbe(intstr.FromInt32(8081)))},
		{Cause: "ready.probePort", Name: "named", Make: readiness(httpProbe(intstr.FromString("http")))},
		{Cause: "ready.probeErrored", Make: func(e *Env) {
			e.server(nil, func(_ *corev1.Pod, c *corev1.Container) {
				c.Ports = nil
				c.ReadinessProbe = httpProbe(intstr.FromString("http"))
			})
		}},
		{Cause: "ready.startupFails", Make: func(e *Env) {
			e.server(sim("ready-after", "forever"), func(_ *corev1.Pod, c *corev1.Container) {
				c.StartupProbe = httpProbe(declared)
				c.StartupProbe.FailureThreshold = 60
			})
		}},
		{Cause: "ready.startupRestarts", Make: func(e *Env) {
			e.server(sim("ready-after", "forever"), func(_ *corev1.Pod, c *corev1.Container) { c.StartupProbe = httpProbe(declared) })
		}},
		{Cause: "ready.livenessRestarts", Make: func(e *Env) {
			e.server(sim("unhealthy-after", "2s"), func(_ *corev1.Pod, c *corev1.Container) { c.LivenessProbe = httpProbe(declared) })
		}},
		{Cause: "ready.gateMissing", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/registered"}}
			})
		}},
		{Cause: "ready.gateFalse", Make: closedGateOf},
		{Cause: "ready.resizeDeferred", Make: resizeDeferred},
	})
}

// closedGateOf makes a pod whose readiness gate is set to False.
func closedGateOf(e *Env) {
	e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "target-health.elbv2.k8s.aws/web"}}
	})
	e.Until("running", Running)
	patch := `{"status":{"conditions":[{"type":"target-health.elbv2.k8s.aws/web","status":"False","reason":"Target.FailedHealthChecks","message":"Health checks failed"}]}}`
	if _, err := e.Client.CoreV1().Pods(e.Namespace).Patch(e.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		e.T.Fatal(err)
	}
}

// resized makes a pod that runs, and then asks for that much memory.
func (e *Env) resized(memory string) {
	e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}
	})
	e.Until("running", Running)
	patch := `{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"` + memory + `"}}}]}}`
	if _, err := e.Client.CoreV1().Pods(e.Namespace).Patch(e.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize"); err != nil {
		e.T.Fatal(err)
	}
}

// resizeDeferred asks for nearly all memory of the node, while other pods have some.
func resizeDeferred(e *Env) {
	node, err := e.Client.CoreV1().Nodes().Get(e.Context(), e.State.Node, metav1.GetOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	other := labtest.BusyboxPod("other", labtest.Sleep)
	other.Namespace = e.Namespace
	other.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	e.Pod(other)
	e.Until("running", Running)
	all := node.Status.Allocatable[corev1.ResourceMemory]
	all.Sub(resource.MustParse("8Mi"))
	e.resized(all.String())
}

// TestStatusLate: the API server asks an admission webhook about updates of the pods' status. Nothing answers there,
// so the kubelet's updates are refused.
func TestStatusLate(t *testing.T) {
	inLab(t, []Case{{
		Cause: "ready.statusLate",
		Make: func(e *Env) {
			e.webhook(admissionv1.Update, "pods/status")
			e.Busybox(labtest.Sleep, nil)
		},
	}})
}

// webhook sets up an admission webhook for pods of the case's namespace. Nothing answers it. It goes with the case.
func (e *Env) webhook(on admissionv1.OperationType, what string) {
	e.T.Helper()
	fail, none, timeout := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(1)
	nobody := &admissionv1.ServiceReference{Namespace: e.Namespace, Name: "guard"}
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "guard.example.com", ClientConfig: admissionv1.WebhookClientConfig{Service: nobody}, FailurePolicy: &fail, SideEffects: &none,
			TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": e.Namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{on},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{what}},
			}},
		}},
	}
	hooks := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(e.Context(), hook, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() { _ = hooks.Delete(context.Background(), hook.Name, metav1.DeleteOptions{}) })
}
