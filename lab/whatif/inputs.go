// Package whatif makes plans by the kubelet's own computePodActions, and reads in the kubelet what such a plan is made of.
package whatif

import (
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	proberesults "k8s.io/kubernetes/pkg/kubelet/prober/results"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/whatif"
)

// gates are the feature gates that computePodActions asks for.
var gates = []featuregate.Feature{
	features.ContainerRestartRules, features.InPlacePodLevelResourcesVerticalScaling, features.InPlacePodVerticalScaling,
	features.InPlacePodVerticalScalingInitContainers, features.RestartAllContainersOnContainerExits,
}

// Form is the agent's form of the catalogue's field: it makes the inputs of a plan of the list that the woven function
// shows. It keeps nothing of the list, and takes no lock but those of the results of health probes and of the resources.
func Form(v any) (document any, ok bool) {
	list, ok := v.([]any)
	if !ok || len(list) != 6 {
		return nil, false
	}
	pod, ok1 := list[0].(*v1.Pod)
	status, ok2 := list[1].(*kubecontainer.PodStatus)
	liveness, ok3 := list[2].(proberesults.Manager)
	startup, ok4 := list[3].(proberesults.Manager)
	actuated, ok5 := list[4].(state.State)
	all, ok6 := list[5].(bool)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || pod == nil || status == nil {
		return nil, false
	}
	return read(pod, status, probes{liveness, startup}, actuated, all), true
}

// probes are the kubelet's results of health probes.
type probes struct{ liveness, startup proberesults.Manager }

func read(pod *v1.Pod, status *kubecontainer.PodStatus, p probes, actuated state.State, all bool) *whatif.Inputs {
	in := &whatif.Inputs{
		Metadata: whatif.Metadata{DeletionTimestamp: pod.DeletionTimestamp},
		Spec: v1.PodSpec{
			RestartPolicy: pod.Spec.RestartPolicy, HostNetwork: pod.Spec.HostNetwork, Resources: resources(pod.Spec.Resources),
			InitContainers: containers(pod.Spec.InitContainers), Containers: containers(pod.Spec.Containers),
		},
		RestartAllContainers: all,
	}
	for i := range pod.Spec.EphemeralContainers {
		c := v1.EphemeralContainer{}
		c.Name, c.Image = pod.Spec.EphemeralContainers[i].Name, redact.Text(pod.Spec.EphemeralContainers[i].Image)
		in.Spec.EphemeralContainers = append(in.Spec.EphemeralContainers, c)
	}
	for _, g := range gates {
		if !utilfeature.DefaultFeatureGate.Enabled(g) {
			if in.Gates == nil {
				in.Gates = map[string]bool{}
			}
			in.Gates[string(g)] = false
		}
	}
	for _, s := range status.SandboxStatuses {
		in.Status.Sandboxes = append(in.Status.Sandboxes, sandbox(s))
	}
	for _, s := range status.ContainerStatuses {
		in.Status.Containers = append(in.Status.Containers, container(s, pod, p))
	}
	in.Actuated = given(pod, actuated)
	return in
}

// given returns the resources that the kubelet gave to the pod. It asks for each container alone: the map of all is the
// kubelet's, which may write to it meanwhile.
func given(pod *v1.Pod, by state.State) (out whatif.Actuated) {
	if r, found := by.GetPodLevelResources(pod.UID); found {
		out.Pod = resources(r)
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			r, found := by.GetContainerResources(pod.UID, list[i].Name)
			if !found {
				continue
			}
			if out.Containers == nil {
				out.Containers = map[string]v1.ResourceRequirements{}
			}
			out.Containers[list[i].Name] = *resources(&r)
		}
	}
	return out
}

// containers returns of each container what a plan depends on.
func containers(of []v1.Container) (out []v1.Container) {
	for i := range of {
		c := &of[i]
		kept := v1.Container{
			Name: c.Name, Image: redact.Text(c.Image), Resources: *resources(&c.Resources), ResizePolicy: c.ResizePolicy,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
		}
		if c.LivenessProbe != nil {
			kept.LivenessProbe = &v1.Probe{}
		}
		if c.StartupProbe != nil {
			kept.StartupProbe = &v1.Probe{}
		}
		out = append(out, kept)
	}
	return out
}

// resources returns those that a resize compares.
func resources(of *v1.ResourceRequirements) *v1.ResourceRequirements {
	if of == nil {
		return nil
	}
	only := func(list v1.ResourceList) (out v1.ResourceList) {
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			if q, is := list[name]; is {
				if out == nil {
					out = v1.ResourceList{}
				}
				out[name] = q.DeepCopy()
			}
		}
		return out
	}
	return &v1.ResourceRequirements{Limits: only(of.Limits), Requests: only(of.Requests)}
}

func sandbox(s *runtimeapi.PodSandboxStatus) whatif.Sandbox {
	out := whatif.Sandbox{
		ID: s.GetId(), Attempt: s.GetMetadata().GetAttempt(), State: whatif.SandboxNotReady,
		Network: whatif.Network(s.GetLinux().GetNamespaces().GetOptions().GetNetwork().String()),
	}
	if s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
		out.State = whatif.SandboxReady
	}
	if s.GetNetwork() != nil {
		ip := s.GetNetwork().GetIp()
		out.IP = &ip
	}
	return out
}

func container(s *kubecontainer.Status, pod *v1.Pod, p probes) whatif.Container {
	c := whatif.Container{Name: s.Name, ID: s.ID.String(), State: whatif.ContainerState(s.State), ExitCode: s.ExitCode, Reason: redact.Text(s.Reason)}
	c.Liveness, c.Startup = result(p.liveness, s.ID), result(p.startup, s.ID)
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == s.Name {
				c.Changed = kubecontainer.HashContainer(&list[i]) != s.Hash
			}
		}
	}
	return c
}

func result(of proberesults.Manager, id kubecontainer.ContainerID) whatif.ProbeResult {
	switch r, found := of.Get(id); {
	case !found:
		return ""
	case r == proberesults.Success:
		return whatif.ProbeSuccess
	case r == proberesults.Failure:
		return whatif.ProbeFailure
	}
	return whatif.ProbeUnknown
}
