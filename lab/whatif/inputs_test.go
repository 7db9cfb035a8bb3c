package whatif

import (
	"encoding/json"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	proberesults "k8s.io/kubernetes/pkg/kubelet/prober/results"

	"github.com/podstep/podstep/agent/whatif"
)

const secret = "canary-8f2c"

// kubelets is a pod with a status, as the kubelet's function has them, with secrets where a pod can have them.
func kubelets(t testing.TB) []any {
	t.Helper()
	always := v1.ContainerRestartPolicyAlways
	probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{secret}}}}
	limits := v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi"), "example.com/" + secret: resource.MustParse("1")}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", Annotations: map[string]string{"a": secret}, Labels: map[string]string{"token": secret}},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, NodeName: secret, Volumes: []v1.Volume{{Name: secret}},
			InitContainers: []v1.Container{{Name: "side", Image: "https://user:" + secret + "@example.com/side", RestartPolicy: &always, StartupProbe: probe}},
			Containers: []v1.Container{{
				Name: "web", Image: "nginx", Args: []string{secret}, Env: []v1.EnvVar{{Name: "A", Value: secret}}, LivenessProbe: probe,
				Resources: v1.ResourceRequirements{Limits: limits}, WorkingDir: secret,
			}},
			EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "busybox", Command: []string{secret}}}},
		},
	}
	id := kubecontainer.ContainerID{Type: "x", ID: "1"}
	status := &kubecontainer.PodStatus{
		SandboxStatuses: []*runtimeapi.PodSandboxStatus{{
			Id: "s", State: runtimeapi.PodSandboxState_SANDBOX_READY, Metadata: &runtimeapi.PodSandboxMetadata{Attempt: 3},
			Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.1"}, Annotations: map[string]string{"a": secret}, Labels: map[string]string{"b": secret},
		}, {}},
		ContainerStatuses: []*kubecontainer.Status{
			{ID: id, Name: "web", State: kubecontainer.ContainerStateRunning, Hash: kubecontainer.HashContainer(&pod.Spec.Containers[0]), Message: secret},
			{Name: "side", State: kubecontainer.ContainerStateExited, ExitCode: 137, Reason: "OOMKilled", Hash: 1},
			{Name: "gone", State: kubecontainer.ContainerStateExited},
		},
	}
	liveness, startup := proberesults.NewManager(), proberesults.NewManager()
	liveness.Set(id, proberesults.Failure, pod)
	actuated := state.NewStateMemory(nil)
	if err := actuated.SetContainerResources("u", "web", v1.ResourceRequirements{Limits: limits}); err != nil {
		t.Fatal(err)
	}
	return []any{pod, status, liveness, startup, actuated, false}
}

const wantInputs = `{"metadata":{},"spec":{` +
	`"initContainers":[{"name":"side","image":"https://<redacted>@example.com/side","resources":{},"restartPolicy":"Always","startupProbe":{}}],` +
	`"containers":[{"name":"web","image":"nginx","resources":{"limits":{"memory":"64Mi"}},"livenessProbe":{}}],` +
	`"ephemeralContainers":[{"name":"debug","image":"busybox","resources":{}}],"restartPolicy":"Always"},` +
	`"status":{"sandboxes":[{"id":"s","state":"READY","attempt":3,"network":"POD","ip":"10.0.0.1"},{"state":"READY","attempt":0,"network":"POD"}],` +
	`"containers":[{"name":"web","id":"x://1","state":"running","exitCode":0,"liveness":"Failure"},` +
	`{"name":"side","id":"://","state":"exited","exitCode":137,"reason":"OOMKilled","changed":true},{"name":"gone","id":"://","state":"exited","exitCode":0}]},` +
	`"actuated":{"containers":{"web":{"limits":{"memory":"64Mi"}}}}}`

// What is recorded of a pod is what its plan depends on, and none of its secrets.
func TestForm(t *testing.T) {
	document, ok := Form(kubelets(t))
	if !ok {
		t.Fatal("the kubelet's values have no form")
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("the inputs have a secret: %s", text)
	}
	got := strings.ReplaceAll(strings.ReplaceAll(string(text), `\u003c`, "<"), `\u003e`, ">")
	if got != wantInputs {
		t.Errorf("the inputs are\n%s\nwant\n%s", got, wantInputs)
	}
}

// Other lists have no form, whatever is in them.
func TestFormOfOthers(t *testing.T) {
	values := kubelets(t)
	values[1] = (*kubecontainer.PodStatus)(nil)
	for _, v := range []any{nil, 1, []any{}, []any{1, 2, 3, 4, 5, 6}, values} {
		if document, ok := Form(v); ok {
			t.Errorf("%v has the form %v", v, document)
		}
	}
}

// The plan that is made of what was recorded does not depend on an image of which a part was left out.
func TestRedactedImage(t *testing.T) {
	values := kubelets(t)
	values[1].(*kubecontainer.PodStatus).ContainerStatuses[1] = &kubecontainer.Status{
		ID: kubecontainer.ContainerID{Type: "x", ID: "2"}, Name: "side", State: kubecontainer.ContainerStateRunning,
		Hash: kubecontainer.HashContainer(&values[0].(*v1.Pod).Spec.InitContainers[0]),
	}
	values[3].(proberesults.Manager).Set(kubecontainer.ContainerID{Type: "x", ID: "2"}, proberesults.Success, values[0].(*v1.Pod))
	document, _ := Form(values)
	in := document.(*whatif.Inputs)
	p, err := NewPlanner(in)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range plan.ToKill {
		if k.Name == "side" {
			t.Errorf("side is killed: %s", k.Message)
		}
	}
}

func BenchmarkForm(b *testing.B) {
	values := kubelets(b)
	b.ReportAllocs()
	for b.Loop() {
		document, _ := Form(values)
		if text, err := json.Marshal(document); err != nil || len(text) == 0 {
			b.Fatal(err)
		}
	}
}
