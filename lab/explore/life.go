package explore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/lab/faults"
)

// Life is something that happens to a pod.
type Life struct {
	Name, Title string
	// change changes the pod before it is created.
	change func(*corev1.Pod)
	// ready: the calls count only once the pod is Ready, and begin is called then.
	ready bool
	// when, if there is one, reports that begin is to be called.
	when func(*corev1.Pod) bool
	// restarts: the kubelet is killed and started again before begin. The calls count only from then on.
	restarts bool
	// begin makes it happen; nil: the creation does.
	begin func(context.Context, *Node, string) error
	// files: file operations are broken, too.
	files bool
	// plugins: the pod uses plugins, and only calls about them are broken.
	plugins *plugins
	// unbound: the pod may get no node at all.
	unbound bool
	// done reports whether the pod has come where it has to. The pod is nil when it is gone.
	done func(*corev1.Pod) bool
}

// Lives are all lives, in the order in which they are explored.
var Lives = []Life{
	{Name: "create", Title: "a pod is created", files: true, done: ready},
	{Name: "end", Title: "a running pod is deleted", files: true, ready: true, begin: deletePod, done: gone},
	{Name: "restart", Title: "a container ends and is started again", change: endsOnce, ready: true, done: func(p *corev1.Pod) bool {
		return ready(p) && restarts(p, "app") > 0
	}},
	{Name: "resize", Title: "a container gets more CPU", ready: true, begin: resizePod, done: resized},
	{Name: "end-pulling", Title: "a pod is deleted while an image is pulled", change: pullsLong, when: pulls, begin: deletePod, done: gone},
	{Name: "create-plugins", Title: "a pod with a device and a CSI volume is created", change: usesDrivers, plugins: &drivers, done: ready},
	{Name: "next-plugins", Title: "a pod is deleted, and the next one takes its device and its CSI volume", change: usesDrivers, plugins: &drivers,
		ready: true, begin: replacePod, done: nextIsReady},
	{Name: "device", Title: "a pod with a device of a device plugin is created", change: usesDevice, plugins: &devices, done: ready},
	{Name: "register-device", Title: "a device plugin registers, and a pod that asks for its device is created", change: usesDevice, plugins: &registration, unbound: true, done: ready},
	{Name: "credentials", Title: "a pod is created with images for which a credential plugin has the credentials", change: wantsCredentials, plugins: &credentialPlugin, done: ready},
	{Name: "kubelet-end", Title: "the kubelet is killed, and a pod is deleted before the next one starts", ready: true, restarts: true, begin: deletePod, done: gone},
	{Name: "kubelet-resize", Title: "the kubelet is killed, and a container gets more CPU before the next one starts", ready: true, restarts: true,
		begin: resizePod, done: resized},
}

// breaks reports whether a call is broken in the life.
func (l *Life) breaks(c faults.Call) bool {
	if c.Side == faults.File {
		return l.files
	}
	if l.plugins != nil {
		return l.plugins.about(c)
	}
	return c.Side != faults.Plugin && c.Side != faults.Exec && !aboutDrivers(c)
}

const (
	podName          = "web"
	lessCPU, moreCPU = "10m", "15m"
)

// pod returns a pod with something of everything, for a namespace of its own.
func pod(namespace string) *corev1.Pod {
	always, grace := corev1.ContainerRestartPolicyAlways, int64(4)
	container := func(name, script string) corev1.Container {
		return corev1.Container{Name: name, Image: faults.ImageOf(namespace, name), ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sh", "-c", script}}
	}
	const serve = "trap 'exit 0' TERM; sleep 1000000 & wait"
	first, proxy, app := container("first", "exit 0"), container("proxy", serve), container("app", serve)
	proxy.RestartPolicy = &always
	first.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}
	app.VolumeMounts = first.VolumeMounts
	app.Env = []corev1.EnvVar{{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secretName}, Key: "key"}}}}
	app.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(lessCPU)}
	exec := func(command ...string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	app.ReadinessProbe = &corev1.Probe{ProbeHandler: exec("true"), PeriodSeconds: 1}
	app.LivenessProbe = &corev1.Probe{ProbeHandler: exec("test", "-d", "/settings"), PeriodSeconds: 2, FailureThreshold: 2}
	hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"echo", "hook"}}}
	app.Lifecycle = &corev1.Lifecycle{PostStart: hook, PreStop: hook}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName, Namespace: namespace, Annotations: map[string]string{"sim.podstep.dev/pull-time": "300ms"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			InitContainers:                []corev1.Container{first, proxy},
			Containers:                    []corev1.Container{app},
			Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configName}}}}},
		},
	}
}

func endsOnce(p *corev1.Pod) {
	p.Annotations["sim.podstep.dev/app.exit"] = "1"
	p.Annotations["sim.podstep.dev/app.exit-after"] = "5s"
	p.Annotations["sim.podstep.dev/app.exit-times"] = "1"
}

func pullsLong(p *corev1.Pod) {
	p.Spec.InitContainers = p.Spec.InitContainers[1:]
	p.Annotations["sim.podstep.dev/pull-time"] = "4s"
}

// pulls reports whether the pod has its sandbox, and so pulls its first image or has tried to.
func pulls(p *corev1.Pod) bool { return p != nil && p.Status.PodIP != "" }

func deletePod(ctx context.Context, n *Node, namespace string) error {
	if err := n.Client.CoreV1().Pods(namespace).Delete(ctx, podName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return nil
}

func resizePod(ctx context.Context, n *Node, namespace string) error {
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":%q}}}]}}`, moreCPU)
	if _, err := n.Client.CoreV1().Pods(namespace).Patch(ctx, podName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize"); err != nil {
		return fmt.Errorf("resize pod: %w", err)
	}
	return nil
}

func resized(p *corev1.Pod) bool {
	return ready(p) && cpuOf(p, "app").Cmp(resource.MustParse(moreCPU)) == 0
}

func gone(p *corev1.Pod) bool { return p == nil }

func ready(p *corev1.Pod) bool {
	if p == nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func statusOf(p *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

func restarts(p *corev1.Pod, container string) int32 {
	if s := statusOf(p, container); s != nil {
		return s.RestartCount
	}
	return 0
}

func cpuOf(p *corev1.Pod, container string) *resource.Quantity {
	if s := statusOf(p, container); s != nil && s.Resources != nil {
		return s.Resources.Requests.Cpu()
	}
	return &resource.Quantity{}
}
