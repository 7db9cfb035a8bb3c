package whatif

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"unsafe"

	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"

	"github.com/podstep/podstep/agent/whatif"
)

// manager is the kubelet's kubeGenericRuntimeManager, with a runtime that has a version and nothing else.
type manager struct {
	pointer           unsafe.Pointer
	liveness, startup results
	actuated          state.State
}

// newManager makes a manager by the kubelet's own constructor. computePodActions uses the results of health probes, the
// actuated resources, and a hook of the managers of CPUs, memory and topology, which do nothing here.
func newManager() (*manager, error) {
	dir, err := os.MkdirTemp("", "podstep-whatif-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir)
	m := &manager{liveness: results{}, startup: results{}, actuated: state.NewStateMemory(nil)}
	// The constructor opens the checkpoint of resources, which is a file, and logs each step of that.
	ctx := klog.NewContext(context.Background(), discard())
	runtime, _, err := kuberuntime.NewKubeGenericRuntimeManager(
		ctx, nil, m.liveness, results{}, m.startup, dir, dir, nil, nil, 1, nil, nil, nil, nil, false, nil, 0, 0,
		string(kubeletconfig.NeverVerify), nil, "", "", nil, false, metav1.Duration{}, versioned{}, noImages{}, noManagers{},
		nil, nil, false, "", func() v1.ResourceList { return nil }, 0, "", nil, noop.NewTracerProvider(), nil, nil, nil,
	)
	if err != nil {
		return nil, fmt.Errorf("make the kubelet's runtime manager: %w", err)
	}
	v := reflect.ValueOf(runtime)
	m.pointer = v.UnsafePointer()
	// The state in memory takes the place of the checkpoint: nothing of a what-if is written to a disk.
	f := v.Elem().FieldByName("actuatedState")
	if f.Type() != reflect.TypeFor[state.State]() {
		return nil, errors.New("the kubelet's runtime manager has no actuatedState: this program was built with another kubelet")
	}
	*(*state.State)(f.Addr().UnsafePointer()) = m.actuated
	return m, nil
}

// give sets the resources that the pod's containers have.
func (m *manager) give(r whatif.Actuated) error {
	if err := m.actuated.RemovePod(uid); err != nil {
		return fmt.Errorf("forget resources: %w", err)
	}
	if r.Containers == nil && r.Pod == nil {
		return nil
	}
	info := state.PodResourceInfo{ContainerResources: r.Containers, PodLevelResources: r.Pod}
	if info.ContainerResources == nil {
		info.ContainerResources = map[string]v1.ResourceRequirements{}
	}
	if err := m.actuated.SetPodResourceInfo(discard(), uid, info); err != nil {
		return fmt.Errorf("set resources: %w", err)
	}
	return nil
}

// versioned is a runtime of which nothing can be asked but its version. A call of anything else panics.
type versioned struct{ internalapi.RuntimeService }

func (versioned) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "whatif", RuntimeVersion: "0", RuntimeApiVersion: "v1"}, nil
}

// noManagers are the managers of CPUs, memory and topology. What they do with a container that stopped is no part of its
// pod's plan.
type noManagers struct{ cm.ContainerManager }

func (noManagers) InternalContainerLifecycle() cm.InternalContainerLifecycle { return noLifecycle{} }

type noLifecycle struct{ cm.InternalContainerLifecycle }

func (noLifecycle) PostStopContainer(klog.Logger, string) error { return nil }

// noImages is a service of images of which nothing can be asked. A call panics.
type noImages struct {
	internalapi.ImageManagerService
}
