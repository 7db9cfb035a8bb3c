package whatif

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	proberesults "k8s.io/kubernetes/pkg/kubelet/prober/results"

	"github.com/podstep/podstep/agent/whatif"
)

// uid names the only pod of a Planner.
const uid types.UID = "whatif"

// Planner makes plans by the kubelet's computePodActions.
type Planner struct {
	mu       sync.Mutex
	manager  *manager
	listener *listener
	// made has the containers as they were when the runtime made them: the recorded ones.
	made map[string]v1.Container
}

// NewPlanner returns a planner for changes of some inputs: a container counts as made from the definition that it has
// there. It takes over the log of this process's Kubernetes packages.
func NewPlanner(recorded *whatif.Inputs) (*Planner, error) {
	m, err := newManager()
	if err != nil {
		return nil, err
	}
	p := &Planner{manager: m, listener: &listener{}, made: map[string]v1.Container{}}
	for _, list := range [][]v1.Container{recorded.Spec.InitContainers, recorded.Spec.Containers} {
		for _, c := range list {
			p.made[c.Name] = c
		}
	}
	return p, nil
}

// Plan returns the plan that the kubelet would make of some inputs.
func (p *Planner) Plan(in *whatif.Inputs) (*whatif.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := in.Check(); err != nil {
		return nil, err
	}
	restore, err := setGates(in.Gates)
	if err != nil {
		return nil, err
	}
	defer restore()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "whatif", UID: uid, DeletionTimestamp: in.Metadata.DeletionTimestamp}, Spec: in.Spec}
	status := p.status(in)
	p.manager.liveness.set(in.Status.Containers, func(c whatif.Container) whatif.ProbeResult { return c.Liveness })
	p.manager.startup.set(in.Status.Containers, func(c whatif.Container) whatif.ProbeResult { return c.Startup })
	if err := p.manager.give(in.Actuated); err != nil {
		return nil, err
	}
	logger, stop := p.listener.listen()
	actions := computePodActions(p.manager.pointer, klog.NewContext(context.Background(), logger), pod, status, in.RestartAllContainers)
	out := planOf(pod, status, &actions)
	out.Messages = stop()
	return out, nil
}

// setGates sets the feature gates that the function asks for, and returns the function that sets them back.
func setGates(to map[string]bool) (restore func(), err error) {
	before, after := map[string]bool{}, map[string]bool{}
	known := map[string]bool{}
	for _, g := range gates {
		known[string(g)] = true
		wanted, given := to[string(g)]
		if is := utilfeature.DefaultFeatureGate.Enabled(g); is != (wanted || !given) {
			before[string(g)], after[string(g)] = is, !is
		}
	}
	for name := range to {
		if !known[name] {
			return nil, fmt.Errorf("gates.%s: a plan does not depend on this feature gate", name)
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(after); err != nil {
		return nil, fmt.Errorf("set feature gates as in gates: %w", err)
	}
	return func() {
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(before); err != nil {
			panic(err) // they were so before
		}
	}, nil
}

func (p *Planner) status(in *whatif.Inputs) *kubecontainer.PodStatus {
	out := &kubecontainer.PodStatus{ID: uid, Name: "pod", Namespace: "whatif"}
	for _, s := range in.Status.Sandboxes {
		status := &runtimeapi.PodSandboxStatus{
			Id: s.ID, State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY, Metadata: &runtimeapi.PodSandboxMetadata{Attempt: s.Attempt},
			Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{
				Network: runtimeapi.NamespaceMode(runtimeapi.NamespaceMode_value[string(s.Network)]),
			}}},
		}
		if s.State == whatif.SandboxReady {
			status.State = runtimeapi.PodSandboxState_SANDBOX_READY
		}
		if s.IP != nil {
			status.Network = &runtimeapi.PodSandboxNetworkStatus{Ip: *s.IP}
		}
		out.SandboxStatuses = append(out.SandboxStatuses, status)
	}
	for i, c := range in.Status.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses, &kubecontainer.Status{
			ID: containerID(in.Status.Containers, i), Name: c.Name, State: kubecontainer.State(c.State), ExitCode: c.ExitCode, Reason: c.Reason, Hash: p.hash(c),
		})
	}
	return out
}

// hash returns the hash of the definition from which a container was made. A container of which the recording knows only
// that it was another definition gets one that fits none.
func (p *Planner) hash(c whatif.Container) uint64 {
	made, is := p.made[c.Name]
	if !is {
		return 0
	}
	h := kubecontainer.HashContainer(&made)
	if c.Changed {
		return ^h
	}
	return h
}

// containerID returns the id of a container of a list. Ids that were not recorded, or that are of no runtime's form, are
// made up: what was put there by hand need not have one.
func containerID(of []whatif.Container, i int) (id kubecontainer.ContainerID) {
	if id.ParseString(of[i].ID) != nil {
		id = kubecontainer.ContainerID{Type: "whatif", ID: fmt.Sprint(i)}
	}
	return id
}

// results are results of health probes.
type results map[kubecontainer.ContainerID]proberesults.Result

func (r results) set(of []whatif.Container, result func(whatif.Container) whatif.ProbeResult) {
	clear(r)
	for i, c := range of {
		switch result(c) {
		case whatif.ProbeSuccess:
			r[containerID(of, i)] = proberesults.Success
		case whatif.ProbeFailure:
			r[containerID(of, i)] = proberesults.Failure
		case whatif.ProbeUnknown:
			r[containerID(of, i)] = proberesults.Unknown
		}
	}
}

func (r results) Get(id kubecontainer.ContainerID) (proberesults.Result, bool) {
	v, found := r[id]
	return v, found
}

func (r results) Set(id kubecontainer.ContainerID, v proberesults.Result, _ *v1.Pod) { r[id] = v }
func (r results) Remove(id kubecontainer.ContainerID)                                { delete(r, id) }
func (r results) Updates() <-chan proberesults.Update                                { return nil }
