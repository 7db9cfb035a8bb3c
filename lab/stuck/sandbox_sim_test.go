//go:build sim

package stuck

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// annotated makes a pod with annotations of the simulated runtime. settings are names and values in turn.
func annotated(settings ...string) func(*Env) {
	return func(e *Env) {
		e.Busybox(labtest.Sleep, func(p *corev1.Pod) { annotate(p, settings...) })
	}
}

func annotate(p *corev1.Pod, settings ...string) {
	p.Annotations = map[string]string{}
	for i := 0; i+1 < len(settings); i += 2 {
		p.Annotations["sim.podstep.dev/"+settings[i]] = settings[i+1]
	}
}

func TestSandbox(t *testing.T) {
	inLab(t, []Case{
		{Cause: "sandbox.cniError", Make: annotated("cni-error", "unable to connect to the agent")},
		{Cause: "sandbox.noAddresses", Make: annotated("cni-error", "failed to allocate for range 0: no IP addresses available in range set: 10.88.0.1-10.88.0.254")},
		{Cause: "sandbox.cniMissing", Make: annotated("sandbox-error", `failed to setup network for sandbox "1922b20215e5": failed to find plugin "bridge" in path [/opt/cni/bin]`)},
		{Cause: "sandbox.pauseImage", Make: annotated("sandbox-error", `failed to get sandbox image "registry.k8s.io/pause:3.10": failed to pull image "registry.k8s.io/pause:3.10": failed to resolve reference: dial tcp: i/o timeout`)},
		{Cause: "sandbox.cgroupDriver", Make: annotated("sandbox-error", `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods/besteffort/pod1/2" instead`)},
		{Cause: "sandbox.sysctl", Make: annotated("sandbox-error", `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: open /proc/sys/net/core/somaxconn2: no such file or directory`)},
		{Cause: "sandbox.userns", Make: annotated("sandbox-error", `failed to start sandbox: failed to create user namespace: idmapped mounts are not supported by the file system`)},
		{Cause: "sandbox.seccomp", Make: annotated("sandbox-error", `failed to generate seccomp spec opts: seccomp is not supported, cannot set profile`)},
		{Cause: "sandbox.oci", Make: annotated("sandbox-error", `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: fork/exec /proc/self/exe: resource temporarily unavailable`)},
		{Cause: "sandbox.noSpace", Make: annotated("sandbox-error", `failed to create sandbox: mkdir /run/containerd/io.containerd.runtime.v2.task/k8s.io/1922: no space left on device`)},
		{Cause: "sandbox.nameReserved", Make: annotated("sandbox-error", `failed to reserve sandbox name "web_default_1_0": name "web_default_1_0" is reserved for "4c8e59a8c573"`)},
		{Cause: "sandbox.failed", Make: annotated("sandbox-error", "the sandbox store is closed")},
		{Cause: "sandbox.hostnameTooLong", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.Hostname, p.Spec.Subdomain = strings.Repeat("a", 40), strings.Repeat("b", 40)
				p.Spec.SetHostnameAsFQDN = new(true)
			})
		}},
		// The API server shows nothing of it for four minutes.
		{Cause: "sandbox.hangs", Make: annotated("sandbox-hang", "forever"), Only: map[Way]string{API: "sandbox.none"}},
		// Nothing at the API server shows what the deletion waits for.
		{Cause: "sandbox.deletedMeanwhile", Skip: []Way{API}, Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Name = "half-made" // like no other pod of the node
				annotate(p, "sandbox-hang", "forever")
			})
			e.UntilEvent("half-made", "RunPodSandbox", func(v probes.Event) bool { return v.Step == "cri.RunPodSandbox" })
			e.DeletePod(new(int64(1)))
		}},
	})
}

// TestRuntimeClass: a class has no handler on the node. Another class is removed while the pod waits to be scheduled:
// the API server accepts no pod without its class.
func TestRuntimeClass(t *testing.T) {
	inLab(t, []Case{
		{Cause: "sandbox.handlerMissing", Make: func(e *Env) {
			e.runtimeClass("why-no-handler", "gvisor")
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("why-no-handler") })
		}},
		{Cause: "sandbox.runtimeClassMissing", Make: func(e *Env) {
			gone := e.runtimeClass("why-gone", "runc")
			e.gated(func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("why-gone") }, gone)
		}},
	})
}

// runtimeClass makes a RuntimeClass, and returns a function that removes it.
func (e *Env) runtimeClass(name, handler string) (remove func()) {
	e.T.Helper()
	classes := e.Client.NodeV1().RuntimeClasses()
	if _, err := classes.Create(e.Context(), &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler}, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	return func() {
		if err := classes.Delete(e.Context(), name, metav1.DeleteOptions{}); err != nil {
			e.T.Fatal(err)
		}
	}
}

// gated makes a pod, calls meanwhile, and only then lets the pod be scheduled.
func (e *Env) gated(change func(*corev1.Pod), meanwhile func()) {
	e.T.Helper()
	e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "podstep.dev/why"}}
		change(p)
	})
	meanwhile()
	p, err := e.Client.CoreV1().Pods(e.Namespace).Get(e.Context(), "web", metav1.GetOptions{})
	if err == nil {
		p.Spec.SchedulingGates = nil
		_, err = e.Client.CoreV1().Pods(e.Namespace).Update(e.Context(), p, metav1.UpdateOptions{})
	}
	if err != nil {
		e.T.Fatal(err)
	}
}
