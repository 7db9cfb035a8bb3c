//go:build sim

package stuck

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/labtest"
)

func ptr[T any](v T) *T { return &v }

// app makes a pod with one container. change changes both.
func app(change func(p *corev1.Pod, c *corev1.Container)) func(*Env) {
	return func(e *Env) {
		e.Busybox(labtest.Sleep, func(p *corev1.Pod) { change(p, &p.Spec.Containers[0]) })
	}
}

// faulty makes a pod with an annotation of the simulated runtime.
func faulty(name, value string) func(*Env) {
	return app(func(p *corev1.Pod, _ *corev1.Container) { faultOf(p, name, value) })
}

func keyOf(kind, name, key string) []corev1.EnvVar {
	ref := corev1.LocalObjectReference{Name: name}
	from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: key}}
	if kind == "Secret" {
		from = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: key}}
	}
	return []corev1.EnvVar{{Name: "VALUE", ValueFrom: from}}
}

func TestConfig(t *testing.T) {
	made := func(e *Env) {
		meta := metav1.ObjectMeta{Name: "settings"}
		if _, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Create(e.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"other": "1"}}, metav1.CreateOptions{}); err != nil {
			e.T.Fatal(err)
		}
		if _, err := e.Client.CoreV1().Secrets(e.Namespace).Create(e.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"other": "1"}}, metav1.CreateOptions{}); err != nil {
			e.T.Fatal(err)
		}
	}
	env := func(kind, name string) func(*Env) {
		return app(func(_ *corev1.Pod, c *corev1.Container) { c.Env = keyOf(kind, name, "size") })
	}
	inLab(t, []Case{
		{Cause: "start.configMapMissing", Make: env("ConfigMap", "nowhere")},
		{Cause: "start.secretMissing", Make: env("Secret", "nowhere")},
		{Cause: "start.configMapKeyMissing", Make: func(e *Env) { made(e); env("ConfigMap", "settings")(e) }},
		{Cause: "start.secretKeyMissing", Make: func(e *Env) { made(e); env("Secret", "settings")(e) }},
		{Cause: "start.runAsRoot", Make: app(func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr(true)}
		})},
		{Cause: "start.recursiveReadOnly", Make: app(func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true, RecursiveReadOnly: ptr(corev1.RecursiveReadOnlyEnabled)}}
		})},
		{Cause: "start.subPath", Make: app(func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data", SubPathExpr: "$(NOWHERE)/x"}}
		})},
		{Cause: "start.envFile", Make: app(func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			c.Env = []corev1.EnvVar{{Name: "SIZE", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "data", Path: "vars", Key: "SIZE"}}}}
		})},
	})
}

func TestStart(t *testing.T) {
	inLab(t, []Case{
		{Cause: "start.noCommand", Make: faulty("create-error", "failed to generate container \"app\" spec: failed to generate spec: no command specified")},
		{Cause: "start.nameReserved", Make: faulty("create-error", "failed to reserve container name \"app_web_default_1_0\": name \"app_web_default_1_0\" is reserved for \"0123\"")},
		{Cause: "start.pathMissing", Make: faulty("create-error", "failed to generate container \"app\" spec: failed to generate spec: failed to stat \"/srv/data\": stat /srv/data: no such file or directory")},
		{Cause: "start.createFailed", Make: faulty("create-error", "failed to create the container: the store is closed")},
		{Cause: "start.recursiveReadOnly", Name: "runtime", Make: faulty("create-error", "RROUnsupported: recursive read-only mounts need Linux 5.12")},
		{Cause: "start.execNotFound", Make: faulty("start-error", "exec: \"serve\": executable file not found in $PATH")},
		{Cause: "start.execDenied", Make: faulty("start-error", "exec: \"/serve.sh\": permission denied")},
		{Cause: "start.execFormat", Make: faulty("start-error", "exec /serve: exec format error")},
		{Cause: "start.workingDir", Make: faulty("start-error", "chdir to cwd (\"/work\") set in config.json failed: permission denied")},
		{Cause: "start.mountType", Make: faulty("start-error", "error during container init: error mounting \"/a\" to rootfs at \"/etc/app.conf\": mount /a:/etc/app.conf: not a directory: Are you trying to mount a directory onto a file (or vice-versa)?")},
		{Cause: "start.cgroup", Make: faulty("start-error", "unable to apply cgroup configuration: mkdir /sys/fs/cgroup/x: no such file or directory")},
		{Cause: "start.runFailed", Make: faulty("start-error", "error during container init: the moon is full")},
		{Cause: "start.createHangs", Make: faulty("create-error", "rpc error: code = DeadlineExceeded desc = context deadline exceeded")},
	})
}

func TestCrash(t *testing.T) {
	ends := func(code string) func(*Env) { return faulty("exit", code) }
	// A container's end is reported as the cause only once the container was restarted: a program may fail once.
	inLab(t, []Case{
		{Cause: "start.crashes", Make: ends("1")},
		{Cause: "start.exitsUsage", Make: ends("2")},
		{Cause: "start.exitsNotExecutable", Make: ends("126")},
		{Cause: "start.exitsNotFound", Make: ends("127")},
		{Cause: "start.exitsAborted", Make: ends("134")},
		{Cause: "start.exitsKilled", Make: ends("137")},
		{Cause: "start.exitsSegfault", Make: ends("139")},
		{Cause: "start.exitsTerminated", Make: ends("143")},
		{Cause: "start.completes", Make: ends("0")},
		{Cause: "start.oomKilled", Make: app(func(p *corev1.Pod, c *corev1.Container) {
			faultOf(p, "oom-after", "1s")
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		})},
		{Cause: "start.oomUnlimited", Make: faulty("oom-after", "1s")},
		{Cause: "ready.livenessRestarts", Name: "crashloop", Make: inBackOff(func(c *corev1.Container) { c.LivenessProbe = closed() })},
		{Cause: "ready.startupRestarts", Name: "crashloop", Make: inBackOff(func(c *corev1.Container) { c.StartupProbe = closed() })},
		{Cause: "start.postStartFailed", Make: app(func(_ *corev1.Pod, c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}}
		})},
		{Cause: "start.postStartHangs", Make: app(func(p *corev1.Pod, c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "100000"}}}}
		})},
		{Cause: "start.notRestarted", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				other := *p.Spec.Containers[0].DeepCopy()
				other.Name = "other"
				p.Spec.Containers = append(p.Spec.Containers, other)
				faultOf(p, "app.exit", "3")
			})
		}},
	})
}

// inBackOff makes a pod whose container a probe kills until the kubelet delays the next start. The probe is then
// still the cause, not the exit code.
func inBackOff(change func(*corev1.Container)) func(*Env) {
	return func(e *Env) {
		app(func(_ *corev1.Pod, c *corev1.Container) { change(c) })(e)
		e.Until("in back-off", func(p *corev1.Pod) bool {
			all := p.Status.ContainerStatuses
			return len(all) > 0 && all[0].State.Waiting != nil && all[0].State.Waiting.Reason == "CrashLoopBackOff"
		})
	}
}

// closed returns a health probe of a port on which no process listens.
func closed() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(39999)}}, PeriodSeconds: 1, FailureThreshold: 1,
	}
}
