package simnode

import (
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// pod returns a pod with a request and a limit, each for CPU and memory.
func pod(uid, request, limit string) *v1.Pod {
	list := func(amount string) v1.ResourceList {
		if amount == "" {
			return nil
		}
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount), v1.ResourceMemory: resource.MustParse(amount + "Gi")}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: list(request), Limits: list(limit)}}}},
	}
}

func newPodCgroups(t *testing.T) *podCgroups {
	t.Helper()
	steps, err := newCgroupSteps(probes.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	return &podCgroups{dir: t.TempDir(), qos: qosCgroups(), steps: steps, cpuPeriod: 100 * time.Millisecond}
}

func TestPodCgroups(t *testing.T) {
	p := newPodCgroups(t)
	logger := klog.Background()
	for _, c := range []struct {
		pod  *v1.Pod
		want string
	}{
		{pod("a-1", "1", "1"), "/kubepods/poda-1"},
		{pod("b-2", "1", ""), "/kubepods/burstable/podb-2"},
		{pod("c-3", "", ""), "/kubepods/besteffort/podc-3"},
	} {
		name, literal := p.GetPodContainerName(c.pod)
		if literal != c.want {
			t.Errorf("the cgroup is %s, want %s", literal, c.want)
		}
		if p.Exists(c.pod) {
			t.Errorf("%s is there before it was made", literal)
		}
		for range 2 {
			if err := p.EnsureExists(logger, c.pod); err != nil {
				t.Fatal(err)
			}
		}
		if !p.Exists(c.pod) {
			t.Errorf("%s is not there", literal)
		}
		if is, uid := p.IsPodCgroup(literal); !is || uid != c.pod.UID {
			t.Errorf("%s is a pod's: %v, %s", literal, is, uid)
		}
		all, err := p.GetAllPodsFromCgroups()
		if err != nil || len(all) != 1 || all[c.pod.UID].ToCgroupfs() != literal {
			t.Errorf("there are %v, %v", all, err)
		}
		if err := p.Destroy(logger, name); err != nil || p.Exists(c.pod) {
			t.Errorf("%s is still there: %v", literal, err)
		}
	}
	for _, literal := range []string{"/", "/kubepods", "/kubepods/burstable", "/kubepods/other/podx", "/kubepods/burstable/x"} {
		if is, uid := p.IsPodCgroup(literal); is {
			t.Errorf("%s is a pod's: %s", literal, uid)
		}
	}
}

func TestLimits(t *testing.T) {
	p := newPodCgroups(t)
	logger, guaranteed := klog.Background(), pod("a", "2", "2")
	if _, err := p.GetPodCgroupConfig(guaranteed, v1.ResourceMemory); err == nil {
		t.Error("a cgroup that is not there has limits")
	}
	if err := p.EnsureExists(logger, guaranteed); err != nil {
		t.Fatal(err)
	}
	cpu, err := p.GetPodCgroupConfig(guaranteed, v1.ResourceCPU)
	if err != nil || *cpu.CPUShares != 2048 || *cpu.CPUQuota != 200_000 || *cpu.CPUPeriod != 100_000 {
		t.Errorf("CPU limits are %+v, %v", cpu, err)
	}
	more := int64(3 << 30)
	if err := p.SetPodCgroupConfig(logger, guaranteed, &cm.ResourceConfig{Memory: &more}); err != nil {
		t.Fatal(err)
	}
	memory, err := p.GetPodCgroupConfig(guaranteed, v1.ResourceMemory)
	if err != nil || *memory.Memory != more {
		t.Errorf("the memory limit is %+v, %v", memory, err)
	}
	if again, err := p.GetPodCgroupConfig(guaranteed, v1.ResourceCPU); err != nil || *again.CPUShares != 2048 {
		t.Errorf("a new memory limit changed the CPU limits: %+v, %v", again, err)
	}
	if _, err := p.GetPodCgroupConfig(guaranteed, v1.ResourceStorage); err == nil {
		t.Error("a cgroup has a limit of storage")
	}
}

// TestNoLimits: a cgroup without limits has a value for each, as the kubelet expects.
func TestNoLimits(t *testing.T) {
	p := newPodCgroups(t)
	bestEffort := pod("a", "", "")
	if err := p.EnsureExists(klog.Background(), bestEffort); err != nil {
		t.Fatal(err)
	}
	cpu, err := p.GetPodCgroupConfig(bestEffort, v1.ResourceCPU)
	if err != nil || *cpu.CPUShares != cm.MinShares || *cpu.CPUQuota != -1 || *cpu.CPUPeriod != 100_000 {
		t.Errorf("CPU limits are %+v, %v", cpu, err)
	}
	memory, err := p.GetPodCgroupConfig(bestEffort, v1.ResourceMemory)
	if err != nil || *memory.Memory != -1 {
		t.Errorf("the memory limit is %+v, %v", memory, err)
	}
}

// recordingHook keeps the calls of the hook.
type recordingHook struct {
	values [][]any
	fault  error
}

func (h *recordingHook) Enter(step int, _ *hook.Span, values hook.Values) (*hook.Span, error) {
	h.values = append(h.values, hook.All(values))
	return hook.NewSpan(hook.Labels("pod"), step), h.fault
}

func (h *recordingHook) Leave(_ *hook.Span, _ hook.Outcome, err error, values hook.Values) {
	h.values = append(h.values, append(hook.All(values), err))
}

// TestStep: our functions call the hook with the values that the catalogue states, and can be made to fail.
func TestStep(t *testing.T) {
	p := newPodCgroups(t)
	h := &recordingHook{}
	hook.Set(h)
	defer hook.Set(nil)
	hook.Switch(int(p.steps.create), true)
	defer hook.Switch(int(p.steps.create), false)
	it := pod("a", "", "")
	if err := p.EnsureExists(klog.Background(), it); err != nil {
		t.Fatal(err)
	}
	step := probes.MustLoad().Step("sync.cgroup")
	if len(h.values) != 2 || len(h.values[0]) != 1+len(step.Fields) || len(h.values[1]) != 1+len(step.Results) || h.values[0][0] != it {
		t.Errorf("the hook got %v", h.values)
	}
	h.fault = filepath.ErrBadPattern
	other := pod("b", "", "")
	if err := p.EnsureExists(klog.Background(), other); err != h.fault || p.Exists(other) {
		t.Errorf("a fault gave %v", err)
	}
}
