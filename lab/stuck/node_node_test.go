//go:build node

package stuck

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/labtest"
)

// real makes a pod with one container that runs a script. change changes both.
func real(script string, change func(*corev1.Pod, *corev1.Container)) func(*Env) {
	return func(e *Env) {
		e.Busybox(script, func(p *corev1.Pod) { change(p, &p.Spec.Containers[0]) })
	}
}

func command(words ...string) func(*Env) {
	return real(labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.Command = words })
}

// ended makes a pod that runs, with a long grace period, and deletes it.
func ended(script string, change func(*corev1.Pod, *corev1.Container)) func(*Env) {
	return func(e *Env) {
		grace := int64(300)
		real(script, func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.TerminationGracePeriodSeconds = &grace
			change(p, c)
		})(e)
		e.Until("running", Running)
		e.DeletePod(nil)
	}
}

func hook(words ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: words}}
}

const endless = "while true; do sleep 1; done"

// crashes are the causes that may come first while a container has not failed for long.
var crashes = []string{"start.runFailed", "start.crashLoop", "start.crashes", "start.notRestarted", "start.otherReason"}

// TestNodeStart: containers fail to start, or end, under containerd and runc.
func TestNodeStart(t *testing.T) {
	onNode(t, []Case{
		{Cause: "start.execNotFound", Make: command("/no-such"), Meanwhile: crashes},
		{Cause: "start.runAsRoot", Make: real(labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) {
			yes := true
			c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: &yes}
		})},
		{Cause: "start.crashes", Make: command("sh", "-c", "sleep 1; exit 3"), Meanwhile: crashes},
		{Cause: "start.exitsNotFound", Make: command("sh", "-c", "no-such-program"), Meanwhile: crashes},
		{Cause: "start.oomKilled", Make: real(labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) {
			c.Command = []string{"tail", "/dev/zero"}
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("24Mi")}
		}), Meanwhile: append([]string{"start.exitsKilled"}, crashes...)},
		{
			Cause: "start.postStartHangs",
			Make: real(endless, func(_ *corev1.Pod, c *corev1.Container) {
				c.Lifecycle = &corev1.Lifecycle{PostStart: hook("sleep", "3600")}
			}),
			// Nothing at the API server names the hook.
			Only: map[Way]string{API: ""},
		},
	})
}

// TestNodeVolumes: objects are missing at the API server, and an image cannot be pulled.
func TestNodeVolumes(t *testing.T) {
	onNode(t, []Case{
		{Cause: "volumes.configMapMissing", Make: real(labtest.Sleep, func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nowhere"}}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}
		})},
	})
}

// TestNodeReady: a readiness probe asks a port on which no process listens.
func TestNodeReady(t *testing.T) {
	onNode(t, []Case{
		{Cause: "ready.probeRefused", Make: real(endless, func(_ *corev1.Pod, c *corev1.Container) {
			c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(8099)}}}
		})},
	})
}

// probed is a pod whose readiness probe asks port 8099 for TCP each second.
func probed(script string) func(*Env) {
	return real(script, func(_ *corev1.Pod, c *corev1.Container) {
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(8099)}}}
	})
}

// TestNodeKernel: what only the kernel knows of a container: where it listens, and that its CPU limit makes it wait.
func TestNodeKernel(t *testing.T) {
	onNode(t, []Case{
		{Cause: "ready.listensElsewhere", Make: probed("httpd -f -p 8081"), Only: map[Way]string{API: "ready.probeRefused"}},
		{Cause: "ready.listensOnLoopback", Make: probed("httpd -f -p 127.0.0.1:8099"), Only: map[Way]string{API: "ready.probeRefused"}},
		{
			Cause: "ready.throttled",
			Make: real("while :; do :; done", func(_ *corev1.Pod, c *corev1.Container) {
				c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}
				c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 2, TimeoutSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"sleep", "30"}}}}
			}),
			Only:      map[Way]string{API: "ready.probeTimeout"},
			Meanwhile: []string{"ready.probeTimeout"},
		},
	})
}

// TestNodeTerminating: real containers do not end, for several reasons.
func TestNodeTerminating(t *testing.T) {
	onNode(t, []Case{
		{Cause: "terminating.preStop", Make: ended(endless, func(_ *corev1.Pod, c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PreStop: hook("sleep", "3600")}
		})},
		{Cause: "terminating.grace", Make: ended("trap true TERM; "+endless, func(*corev1.Pod, *corev1.Container) {})},
		{
			Cause: "terminating.noHandler", Name: "ignores", Make: ended("trap '' TERM; "+endless, func(*corev1.Pod, *corev1.Container) {}),
			Only: map[Way]string{API: "terminating.grace"},
		},
		{
			Cause: "terminating.noHandler", Make: ended(endless, func(*corev1.Pod, *corev1.Container) {}),
			Only: map[Way]string{API: "terminating.grace"},
		},
	})
}

// TestNodeNoCNI: the runtime's network configuration is removed.
func TestNodeNoCNI(t *testing.T) {
	onNodeAlone(t, []Case{{
		Cause: "sandbox.networkNotReady",
		Make: func(e *Env) {
			files, err := filepath.Glob(filepath.Join(e.Dir, "config", "cni", "*"))
			if err != nil || len(files) == 0 {
				e.T.Fatalf("configurations %q, %v", files, err)
			}
			for _, f := range files {
				if err := os.Remove(f); err != nil {
					e.T.Fatal(err)
				}
			}
			e.Busybox(labtest.Sleep, nil)
		},
		Meanwhile: []string{"sandbox.none", "sandbox.cniMissing", "node.notReady", "node.runtimeNotReady"},
	}})
}

// standsStill stops a process of the lab until the test ends.
func standsStill(e *Env, pid int) {
	e.T.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

// TestNodeRuntimeStopped: containerd stands still.
func TestNodeRuntimeStopped(t *testing.T) {
	onNodeAlone(t, []Case{{
		Cause: "general.processStopped", Name: "runtime", Culprit: anyProcess,
		Make: func(e *Env) {
			standsStill(e, e.RuntimePID())
			e.Busybox(labtest.Sleep, nil)
		},
		// The kubelet's update of its node's status waits for the runtime too, for two minutes. Until then nothing at
		// the API server names the runtime.
		Only: map[Way]string{API: "sandbox.none"},
		// The kubelet takes half a minute to report that its runtime is down.
		Meanwhile: []string{"sandbox.none", "sandbox.hangs", "node.notReady", "source.noReaction", "source.waitsForStatus"},
	}})
}

// TestNodeKubeletStopped: the kubelet stands still, and its lease runs out.
func TestNodeKubeletStopped(t *testing.T) {
	onNodeAlone(t, []Case{{
		Cause: "node.kubeletSilent",
		Make: func(e *Env) {
			standsStill(e, e.KubeletPID())
			e.Busybox(labtest.Sleep, nil)
		},
		Meanwhile: []string{"source.noReaction", "source.notDelivered", "node.notReady"},
	}})
}

// TestNodeShimStopped: the shim of a container stands still while the pod is deleted.
func TestNodeShimStopped(t *testing.T) {
	onNodeAlone(t, []Case{{
		Cause: "general.processStopped", Culprit: anyProcess, Skip: []Way{API},
		Make: func(e *Env) {
			e.Busybox(labtest.Sleep, nil)
			e.Until("running", Running)
			s := nodeSources(e.T, e.Lab, Near).Pod(e.T.Context(), e.watched)
			if s.Machine == nil || len(s.Machine.Programs) != 1 || s.Machine.Programs[0].Shim == nil {
				e.T.Fatalf("no shim is seen: %+v", s.Machine)
			}
			standsStill(e, s.Machine.Programs[0].Shim.PID)
			e.DeletePod(nil)
		},
	}})
}
