//go:build sim

package stuck

import (
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// deleted makes a pod that runs, and deletes it.
func deleted(change func(*corev1.Pod, *corev1.Container), annotations ...string) func(*Env) {
	return func(e *Env) {
		e.server(sim(annotations...), change)
		e.Until("running", Running)
		e.DeletePod(nil)
	}
}

func graceOf(seconds int64) func(*corev1.Pod, *corev1.Container) {
	return func(p *corev1.Pod, _ *corev1.Container) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// execHook returns a hook that runs a command in the container. The annotation exec-delay states how long it takes.
func execHook() *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"drain", "--all"}}}
}

func preStop(p *corev1.Pod, c *corev1.Container) {
	graceOf(120)(p, c)
	c.Lifecycle = &corev1.Lifecycle{PreStop: execHook()}
}

func withFinalizer(name string) func(*corev1.Pod, *corev1.Container) {
	return func(p *corev1.Pod, _ *corev1.Container) { p.Finalizers = []string{name} }
}

func TestTerminating(t *testing.T) {
	inLab(t, []Case{
		{Cause: "terminating.grace", Make: deleted(graceOf(120), "term", "ignore")},
		{Cause: "terminating.preStop", Make: deleted(preStop, "exec-delay", "forever")},
		{
			Cause: "terminating.hookBlocks",
			Make: func(e *Env) {
				e.server(sim("app.exec-delay", "forever"), func(p *corev1.Pod, c *corev1.Container) {
					preStop(p, c)
					p.Spec.RestartPolicy = corev1.RestartPolicyNever
					done := *c.DeepCopy()
					done.Name, done.Command, done.Lifecycle, done.Ports = "done", []string{"sh", "-c", "exit 0"}, nil, nil
					p.Spec.Containers = append(p.Spec.Containers, done)
				})
				e.Until("half done", func(p *corev1.Pod) bool {
					for _, k := range p.Status.ContainerStatuses {
						if k.Name == "done" && k.State.Terminated != nil {
							return true
						}
					}
					return false
				})
				e.DeletePod(nil)
			},
		},
		{Cause: "terminating.sidecarOrder", Make: deleted(func(p *corev1.Pod, c *corev1.Container) {
			graceOf(300)(p, c)
			always := corev1.ContainerRestartPolicyAlways
			side := *c.DeepCopy()
			side.Name, side.RestartPolicy, side.Ports = "proxy", &always, nil
			p.Spec.InitContainers = append(p.Spec.InitContainers, side)
		}, "app.term", "ignore"),
			// When it is late, the root is the container for which the sidecar waits.
			Meanwhile: []string{"terminating.grace"},
		},
		{Cause: "terminating.shortened", Make: func(e *Env) {
			deleted(graceOf(300), "term", "ignore")(e)
			// The event shows that the kubelet has begun with the first deletion.
			labtest.Eventually(e.T, "being killed", func() bool { return e.hasEvent("Killing") })
			five := int64(5)
			e.DeletePod(&five)
		}},
		{Cause: "terminating.behindHook", Make: func(e *Env) {
			e.server(sim("exec-delay", "forever"), func(_ *corev1.Pod, c *corev1.Container) {
				c.Lifecycle = &corev1.Lifecycle{PostStart: execHook()}
			})
			labtest.Eventually(e.T, "started", func() bool { return e.hasEvent("Started") })
			e.DeletePod(nil)
		}},
		{Cause: "terminating.stopFails", Make: deleted(graceOf(1), "term", "ignore", "stop-error", "unable to kill: operation not permitted")},
		{Cause: "terminating.shimDead", Make: deleted(graceOf(1), "term", "ignore", "stop-error", "failed to kill container: ttrpc: closed")},
		{Cause: "terminating.cniDel", Make: deleted(graceOf(1), "sandbox-stop-error", "plugin type=\"bridge\" failed (delete): no route to datastore")},
		{Cause: "terminating.finalizer", Make: deleted(withFinalizer("example.com/drain"))},
		{Cause: "terminating.jobTracking", Make: ended},
		{Cause: "terminating.deleteRefused", Make: func(e *Env) {
			e.server(nil, graceOf(1))
			e.Until("running", Running)
			e.DeletePod(nil)
			e.webhook(admissionv1.Delete, "pods")
		}, Meanwhile: []string{"terminating.cleanup"}},
		{Cause: "terminating.statusRefused", Make: func(e *Env) {
			e.server(nil, graceOf(1))
			e.Until("running", Running)
			e.webhook(admissionv1.Update, "pods/status")
			e.DeletePod(nil)
			// At the API server the containers go on running.
		}, Meanwhile: []string{"terminating.overdue"}, Only: map[Way]string{API: "terminating.overdue"}},
		{Cause: "terminating.activeDeadline", Make: func(e *Env) {
			e.server(nil, func(p *corev1.Pod, c *corev1.Container) {
				three := int64(3)
				p.Spec.ActiveDeadlineSeconds = &three
			})
		}},
	})
}

// ended makes a pod of a Job that ends and is never counted: the Job belongs to another controller than the Job
// controller, and that one does not exist.
func ended(e *Env) {
	other, never := "example.com/jobs", corev1.RestartPolicyNever
	done := labtest.BusyboxPod("web", "exit 0")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: batchv1.JobSpec{ManagedBy: &other, Template: corev1.PodTemplateSpec{Spec: done.Spec}}}
	job.Spec.Template.Spec.RestartPolicy = never
	made, err := e.Client.BatchV1().Jobs(e.Namespace).Create(e.Context(), job, metav1.CreateOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	done.Spec.RestartPolicy = never
	done.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
	done.Labels = map[string]string{"batch.kubernetes.io/controller-uid": string(made.UID), "job-name": made.Name}
	done.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(made, batchv1.SchemeGroupVersion.WithKind("Job"))}
	e.Pod(done)
}

// hasEvent reports whether the case's namespace has an event of a reason.
func (e *Env) hasEvent(reason string) bool {
	list, err := e.Client.CoreV1().Events(e.Namespace).List(e.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	return err == nil && len(list.Items) > 0
}

// TestTerminatingBehindPull has a node of its own, because a pull that hangs delays all others.
func TestTerminatingBehindPull(t *testing.T) {
	alone(t, []Case{{Cause: "terminating.behindPull", Make: func(e *Env) {
		e.server(sim("pull", "hang"), func(p *corev1.Pod, c *corev1.Container) {
			c.Image, c.ImagePullPolicy = "example.com/big:1", corev1.PullAlways
		})
		labtest.Eventually(e.T, "pulling", func() bool { return e.hasEvent("Pulling") })
		e.DeletePod(nil)
	}}})
}

// TestTerminatingNodeSilent stops the kubelet.
func TestTerminatingNodeSilent(t *testing.T) {
	alone(t, []Case{{Cause: "terminating.nodeSilent", Skip: []Way{Woven}, Make: func(e *Env) {
		e.server(nil, func(*corev1.Pod, *corev1.Container) {})
		e.Until("running", Running)
		kubelet := e.KubeletPID()
		if err := syscall.Kill(kubelet, syscall.SIGSTOP); err != nil {
			e.T.Fatal(err)
		}
		e.T.Cleanup(func() { _ = syscall.Kill(kubelet, syscall.SIGCONT) })
		e.DeletePod(nil)
	}, Meanwhile: []string{"terminating.overdue"}}})
}
