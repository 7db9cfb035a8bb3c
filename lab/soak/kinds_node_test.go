//go:build node

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/labtest"
)

// expectation is the state that a pod is expected to reach.
type expectation string

const (
	wantReady     expectation = "Ready"
	wantSucceeded expectation = "Succeeded"
	wantFailed    expectation = "Failed"
	wantCrashing  expectation = "crashing"
)

// kind is a kind of pod.
type kind struct {
	name   string
	weight int
	want   expectation
	static bool
	build  func(p *corev1.Pod, r *rand.Rand)
}

// faultsLabel marks the pods into which faults may be injected.
const faultsLabel = "soak-faults"

// vaultName is the name of the Secret and of the ConfigMap that have canaries.
const vaultName = "soak"

var kinds = []kind{
	{"plain", 4, wantReady, false, func(*corev1.Pod, *rand.Rand) {}},
	{"init", 3, wantReady, false, withInit},
	{"sidecar", 3, wantReady, false, withSidecar},
	{"volumes", 4, wantReady, false, withVolumes},
	{"prestop", 3, wantReady, false, withHooks},
	{"execprobe", 2, wantReady, false, withExecProbes},
	{"httpprobe", 2, wantReady, false, withHTTPProbes},
	{"many", 2, wantReady, false, withMany},
	{"sized", 2, wantReady, false, withSize},
	{"static", 2, wantReady, true, func(*corev1.Pod, *rand.Rand) {}},
	{"complete", 3, wantSucceeded, false, ends("sleep 1; echo $PLAIN", 0)},
	{"fail", 2, wantFailed, false, ends("echo $PLAIN | tee /dev/termination-log", 3)},
	{"crash", 2, wantCrashing, false, func(p *corev1.Pod, _ *rand.Rand) { script(p, "echo no configuration >&2; exit 1") }},
}

func chooseKind(r *rand.Rand) *kind {
	sum := 0
	for i := range kinds {
		sum += kinds[i].weight
	}
	n := r.IntN(sum)
	for i := range kinds {
		if n -= kinds[i].weight; n < 0 {
			return &kinds[i]
		}
	}
	panic("weights do not sum up")
}

// newPod makes a pod of the kind. Every pod has canaries.
func (k *kind) newPod(name string, r *rand.Rand) (p *corev1.Pod, faulty bool) {
	p = labtest.TinyPod(name)
	grace := []int64{0, 1, 2, 5}[r.IntN(4)]
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Labels = map[string]string{"kind": k.name}
	p.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": lastApplied(secret("last-applied")),
		"deployer.example.com/manifest":                    secret("annotation"),
	}
	p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PLAIN", Value: secret("env")}}
	k.build(p, r)
	// A fault could end a pod that runs once for good.
	faulty = k.want == wantReady && !k.static && r.IntN(6) == 0
	if faulty {
		p.Labels[faultsLabel] = "yes"
	}
	return p, faulty
}

// lastApplied returns the annotation that kubectl apply writes.
func lastApplied(value string) string {
	p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "PLAIN", Value: value}}}}}}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func script(p *corev1.Pod, s string) { p.Spec.Containers[0].Command = []string{"sh", "-c", s} }

func ends(s string, code int) func(*corev1.Pod, *rand.Rand) {
	return func(p *corev1.Pod, _ *rand.Rand) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		script(p, fmt.Sprintf("%s; exit %d", s, code))
	}
}

// another returns a container like the pod's first.
func another(p *corev1.Pod, name, s string) corev1.Container {
	c := *p.Spec.Containers[0].DeepCopy()
	c.Name, c.Command = name, []string{"sh", "-c", s}
	return c
}

func withInit(p *corev1.Pod, _ *rand.Rand) {
	p.Spec.InitContainers = []corev1.Container{another(p, "first", "echo $PLAIN"), another(p, "second", "sleep 0.3")}
}

func withSidecar(p *corev1.Pod, r *rand.Rand) {
	c := another(p, "proxy", labtest.Sleep)
	c.RestartPolicy = new(corev1.ContainerRestartPolicy)
	*c.RestartPolicy = corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []corev1.Container{c}
	if r.IntN(2) == 0 {
		withInitAfter(p)
	}
}

func withInitAfter(p *corev1.Pod) {
	p.Spec.InitContainers = append(p.Spec.InitContainers, another(p, "after", "true"))
}

func withVolumes(p *corev1.Pod, _ *rand.Rand) {
	name := corev1.LocalObjectReference{Name: vaultName}
	expires := int64(600)
	p.Spec.AutomountServiceAccountToken = nil
	p.Spec.Volumes = []corev1.Volume{
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: vaultName}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: name}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: name}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expires}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			}}},
		}}}},
	}
	c := &p.Spec.Containers[0]
	c.EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}, Prefix: "CONFIG_"},
	}
	for _, v := range p.Spec.Volumes {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
}

func withHooks(p *corev1.Pod, r *rand.Rand) {
	exec := func(s string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", s, "--password=" + secret("command-password")}}}
	}
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec("echo $PLAIN"), PreStop: exec("echo $PLAIN; sleep 0.5")}
	if r.IntN(3) == 0 { // no process listens there; the pod ends all the same
		p.Spec.Containers[0].Lifecycle.PreStop = &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
			Port: intstr.FromInt32(8081), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: secret("hook-header")}},
		}}
	}
}

// patient returns a health probe that does not fail because a machine is busy.
func patient(h corev1.ProbeHandler) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: h, PeriodSeconds: 3, TimeoutSeconds: 20, FailureThreshold: 10}
}

func withExecProbes(p *corev1.Pod, _ *rand.Rand) {
	c := &p.Spec.Containers[0]
	exec := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo $PLAIN", "--password=" + secret("command-password")}}}
	c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = patient(exec), patient(exec), patient(exec)
}

func withHTTPProbes(p *corev1.Pod, _ *rand.Rand) {
	script(p, "trap 'exit 0' TERM; mkdir /www; echo ok > /www/index.html; httpd -f -p 8080 -h /www & wait")
	get := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Port: intstr.FromInt32(8080), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: secret("probe-header")}},
	}}
	c := &p.Spec.Containers[0]
	c.ReadinessProbe, c.LivenessProbe = patient(get), patient(get)
}

func withMany(p *corev1.Pod, _ *rand.Rand) {
	for _, name := range []string{"b", "c", "d"} {
		p.Spec.Containers = append(p.Spec.Containers, another(p, name, labtest.Sleep))
	}
}

// withSize gives the pod resources that can be changed while it runs.
func withSize(p *corev1.Pod, _ *rand.Rand) {
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}

// vault makes the objects from which pods take their canaries.
func (s *soak) vault() {
	meta := metav1.ObjectMeta{Name: vaultName}
	object := &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"TOKEN": secret("secret-envfrom"), "FILE": secret("secret-volume")}}
	if _, err := s.l.Client.CoreV1().Secrets("default").Create(s.ctx, object, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"KEY": secret("configmap")}}
	if _, err := s.l.Client.CoreV1().ConfigMaps("default").Create(s.ctx, config, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
