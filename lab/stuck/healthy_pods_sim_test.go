//go:build sim

package stuck

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/labtest"
)

// healthyKinds are the kinds of healthy pods. Several pods are made of each.
var healthyKinds = []struct {
	name   string
	change func(*corev1.Pod, *corev1.Container)
}{
	{"plain", func(*corev1.Pod, *corev1.Container) {}},
	{"init", func(p *corev1.Pod, c *corev1.Container) {
		for i := range 3 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: fmt.Sprint("init-", i), Image: c.Image, Command: []string{"sh", "-c", "sleep 2"}})
		}
	}},
	{"sidecar", func(p *corev1.Pod, c *corev1.Container) {
		always := corev1.ContainerRestartPolicyAlways
		side := corev1.Container{Name: "proxy", Image: c.Image, Command: []string{"server"}, RestartPolicy: &always}
		side.Ports = []corev1.ContainerPort{{ContainerPort: 9090}}
		side.StartupProbe = httpProbe(intstr.FromInt32(9090))
		p.Spec.InitContainers = append(p.Spec.InitContainers, side)
	}},
	{"delayed", func(_ *corev1.Pod, c *corev1.Container) {
		serves(c)
		c.ReadinessProbe = httpProbe(intstr.FromInt32(8080))
		c.ReadinessProbe.InitialDelaySeconds = 20
	}},
	{"slow", func(p *corev1.Pod, c *corev1.Container) {
		serves(c)
		p.Annotations = sim("ready-after", "15s")
		c.ReadinessProbe, c.StartupProbe, c.LivenessProbe = httpProbe(intstr.FromInt32(8080)), httpProbe(intstr.FromInt32(8080)), httpProbe(intstr.FromInt32(8080))
		c.StartupProbe.FailureThreshold = 60
	}},
	{"warming", func(p *corev1.Pod, c *corev1.Container) {
		serves(c)
		p.Annotations = sim("ready-after", "10s")
		c.ReadinessProbe = httpProbe(intstr.FromInt32(8080))
	}},
	{"exec", func(_ *corev1.Pod, c *corev1.Container) {
		serves(c)
		c.ReadinessProbe, c.LivenessProbe = execProbe(), execProbe()
	}},
	{"volumes", func(p *corev1.Pod, c *corev1.Container) {
		ref := corev1.LocalObjectReference{Name: "settings"}
		p.Spec.Volumes = []corev1.Volume{
			{Name: "map", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}}},
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
			}}}},
		}
		for _, v := range p.Spec.Volumes {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
		}
		c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref}}}
	}},
	{"host", func(p *corev1.Pod, _ *corev1.Container) { p.Spec.HostNetwork = true }},
	{"grace", func(p *corev1.Pod, c *corev1.Container) { graceOf(600)(p, c) }},
	{"drains", func(p *corev1.Pod, c *corev1.Container) {
		serves(c)
		graceOf(60)(p, c)
		p.Annotations = sim("term", "8s")
	}},
	{"hook", func(p *corev1.Pod, c *corev1.Container) {
		graceOf(60)(p, c)
		c.Lifecycle = &corev1.Lifecycle{
			PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "sleep 1"}}},
			PreStop:   &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "sleep 6"}}},
		}
	}},
	{"once", func(p *corev1.Pod, c *corev1.Container) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		c.Command = []string{"sh", "-c", "sleep 8"}
	}},
	{"half", func(p *corev1.Pod, c *corev1.Container) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		done := *c.DeepCopy()
		done.Name, done.Command = "fetch", []string{"sh", "-c", "sleep 3"}
		p.Spec.Containers = append(p.Spec.Containers, done)
	}},
	{"pulls", func(p *corev1.Pod, c *corev1.Container) {
		p.Annotations = sim("pull-time", "3s")
		c.Image, c.ImagePullPolicy = "example.com/pulled:1", corev1.PullAlways
	}},
}

// serves makes a container a server, which ends at once when it is asked to.
func serves(c *corev1.Container) {
	c.Command, c.Ports = []string{"server"}, []corev1.ContainerPort{{ContainerPort: 8080}}
}

// perKind is how many pods without an owner are made of each kind.
const perKind = 3

// healthyAlone makes pods without an owner, and the objects to which they refer.
func (e *Env) healthyAlone() {
	e.T.Helper()
	meta := metav1.ObjectMeta{Name: "settings"}
	if _, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Create(e.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"COLOUR": "blue"}}, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	if _, err := e.Client.CoreV1().Secrets(e.Namespace).Create(e.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"key": "value"}}, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	for _, k := range healthyKinds {
		for i := range perKind {
			p := labtest.BusyboxPod(fmt.Sprint(k.name, "-", i), labtest.Sleep)
			p.Labels = map[string]string{"kind": k.name}
			k.change(p, &p.Spec.Containers[0])
			e.Pod(p)
		}
	}
}

var healthyDeployments = []string{"rolling", "recreated", "probed"}

// templateOf returns the template of an owner's pods.
func templateOf(name string, change func(*corev1.Pod, *corev1.Container)) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	labels := map[string]string{"kind": name}
	p.Labels = labels
	if change != nil {
		change(p, &p.Spec.Containers[0])
	}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: p.Annotations}, Spec: p.Spec}
}

// manifest returns the path of the static pod's file.
func (e *Env) manifest() string { return filepath.Join(e.Dir, "manifests", "static.yaml") }

// healthyStatic makes a static pod.
func (e *Env) healthyStatic() {
	e.T.Helper()
	p := labtest.BusyboxPod("static", labtest.Sleep)
	p.Namespace, p.TypeMeta = e.Namespace, metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	text, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(e.manifest(), text, 0o600)
	}
	if err != nil {
		e.T.Fatal(err)
	}
}

// healthyOwned makes pods of every controller.
func (e *Env) healthyOwned() {
	e.T.Helper()
	six, four := int32(6), int32(4)
	ctx, o := e.Context(), metav1.CreateOptions{}
	probed := func(_ *corev1.Pod, c *corev1.Container) {
		serves(c)
		c.ReadinessProbe = httpProbe(intstr.FromInt32(8080))
		c.ReadinessProbe.InitialDelaySeconds = 2
	}
	for i, name := range healthyDeployments {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &six}}
		d.Spec.Selector, d.Spec.Template = templateOf(name, nil)
		switch i {
		case 1:
			d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		case 2:
			d.Spec.Selector, d.Spec.Template = templateOf(name, probed)
		}
		if _, err := e.Client.AppsV1().Deployments(e.Namespace).Create(ctx, d, o); err != nil {
			e.T.Fatal(err)
		}
	}
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: &four, ServiceName: "db"}}
	s.Spec.Selector, s.Spec.Template = templateOf("db", probed)
	if _, err := e.Client.AppsV1().StatefulSets(e.Namespace).Create(ctx, s, o); err != nil {
		e.T.Fatal(err)
	}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "each"}}
	d.Spec.Selector, d.Spec.Template = templateOf("each", nil)
	if _, err := e.Client.AppsV1().DaemonSets(e.Namespace).Create(ctx, d, o); err != nil {
		e.T.Fatal(err)
	}
	e.healthyJobs()
}

// healthyJobs makes Jobs that complete: with their pods one by one, with them side by side, and by a schedule.
func (e *Env) healthyJobs() {
	e.T.Helper()
	ctx, o := e.Context(), metav1.CreateOptions{}
	runs := func(script string) batchv1.JobSpec {
		_, t := templateOf("job", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			c.Command = []string{"sh", "-c", script}
		})
		return batchv1.JobSpec{Template: t}
	}
	six, three := int32(6), int32(3)
	many := runs("sleep 5")
	many.Completions, many.Parallelism = &six, &three
	for name, spec := range map[string]batchv1.JobSpec{"many": many, "one": runs("exit 0"), "long": runs("sleep 60")} {
		if _, err := e.Client.BatchV1().Jobs(e.Namespace).Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, o); err != nil {
			e.T.Fatal(err)
		}
	}
	clock := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "clock"}, Spec: batchv1.CronJobSpec{
		Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: runs("sleep 2")},
	}}
	if _, err := e.Client.BatchV1().CronJobs(e.Namespace).Create(ctx, clock, o); err != nil {
		e.T.Fatal(err)
	}
}
