package simnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"github.com/podstep/podstep/probes/hook"
)

// podCgroups simulates the cgroups of pods by directories, with the limits in a file. They have the names that a
// kubelet gives cgroups, and are below a directory of our own. They outlive the kubelet, as cgroups do.
//
// A person who watches sees the kubelet's steps for them: the functions do what the kubelet's do, as far as a file
// system allows.
type podCgroups struct {
	cm.PodContainerManager // the stub has the methods that nothing calls here
	dir                    string
	qos                    cm.QOSContainersInfo
	steps                  *cgroupSteps
	cpuPeriod              time.Duration
}

const (
	podPrefix  = "pod"
	limitsFile = "limits.json"
)

// qosCgroups returns the names of the cgroups above pods.
func qosCgroups() cm.QOSContainersInfo {
	root := cm.NewCgroupName(cm.RootCgroupName, "kubepods")
	return cm.QOSContainersInfo{
		Guaranteed: root,
		Burstable:  cm.NewCgroupName(root, "burstable"),
		BestEffort: cm.NewCgroupName(root, "besteffort"),
	}
}

func (p *podCgroups) path(name cm.CgroupName, elem ...string) string {
	return filepath.Join(append([]string{p.dir, name.ToCgroupfs()}, elem...)...)
}

// parents returns the cgroups above pods.
func (p *podCgroups) parents() []cm.CgroupName {
	return []cm.CgroupName{p.qos.BestEffort, p.qos.Burstable, p.qos.Guaranteed}
}

func (p *podCgroups) GetPodContainerName(pod *v1.Pod) (cm.CgroupName, string) {
	parent := p.qos.Guaranteed
	switch v1qos.GetPodQOS(pod) {
	case v1.PodQOSBurstable:
		parent = p.qos.Burstable
	case v1.PodQOSBestEffort:
		parent = p.qos.BestEffort
	}
	name := cm.NewCgroupName(parent, cm.GetPodCgroupNameSuffix(pod.UID))
	return name, name.ToCgroupfs()
}

func (p *podCgroups) Exists(pod *v1.Pod) bool {
	name, _ := p.GetPodContainerName(pod)
	_, err := os.Stat(p.path(name))
	return err == nil
}

func (p *podCgroups) EnsureExists(_ klog.Logger, pod *v1.Pod) error {
	name, literal := p.GetPodContainerName(pod)
	return p.steps.create.around(func(to hook.To) {
		hook.Put(to, pod)
		hook.Put(to, literal)
		hook.Put(to, pod.Status.QOSClass)
	}, func() error {
		if p.Exists(pod) {
			return nil
		}
		if err := os.MkdirAll(p.path(name), 0o755); err != nil {
			return fmt.Errorf("create cgroup: %w", err)
		}
		return p.write(name, cm.ResourceConfigForPod(pod, true, uint64(p.cpuPeriod.Microseconds()), false, kubeletconfig.NoneMemoryReservationPolicy))
	})
}

func (p *podCgroups) Destroy(_ klog.Logger, name cm.CgroupName) error {
	uid := strings.TrimPrefix(name[len(name)-1], podPrefix)
	return p.steps.remove.around(func(to hook.To) {
		hook.Put(to, uid)
		hook.Put(to, []string(name))
	}, func() error {
		return os.RemoveAll(p.path(name))
	})
}

func (p *podCgroups) ReduceCPULimits(klog.Logger, cm.CgroupName) error { return nil }

// GetAllPodsFromCgroups returns the pods that have cgroups.
func (p *podCgroups) GetAllPodsFromCgroups() (map[types.UID]cm.CgroupName, error) {
	found := map[types.UID]cm.CgroupName{}
	for _, parent := range p.parents() {
		entries, err := os.ReadDir(p.path(parent))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list cgroups: %w", err)
		}
		for _, e := range entries {
			if uid, ok := strings.CutPrefix(e.Name(), podPrefix); ok && e.IsDir() {
				found[types.UID(uid)] = cm.NewCgroupName(parent, e.Name())
			}
		}
	}
	return found, nil
}

func (p *podCgroups) IsPodCgroup(literal string) (bool, types.UID) {
	dir, base := filepath.Split(filepath.Clean(literal))
	for _, parent := range p.parents() {
		if filepath.Clean(dir) == parent.ToCgroupfs() {
			uid, ok := strings.CutPrefix(base, podPrefix)
			return ok, types.UID(uid)
		}
	}
	return false, ""
}

func (p *podCgroups) GetPodCgroupMemoryUsage(*v1.Pod) (uint64, error) { return 0, nil }

func (p *podCgroups) GetPodCgroupConfig(pod *v1.Pod, kind v1.ResourceName) (*cm.ResourceConfig, error) {
	name, _ := p.GetPodContainerName(pod)
	all, err := p.read(name)
	if err != nil {
		return nil, err
	}
	switch kind {
	case v1.ResourceCPU:
		return &cm.ResourceConfig{CPUPeriod: all.CPUPeriod, CPUQuota: all.CPUQuota, CPUShares: all.CPUShares}, nil
	case v1.ResourceMemory:
		return &cm.ResourceConfig{Memory: all.Memory}, nil
	}
	return nil, fmt.Errorf("read cgroup: it has no limit of %s", kind)
}

func (p *podCgroups) SetPodCgroupConfig(_ klog.Logger, pod *v1.Pod, to *cm.ResourceConfig) error {
	name, _ := p.GetPodContainerName(pod)
	all, err := p.read(name)
	if err != nil {
		return err
	}
	change(all, to)
	return p.write(name, all)
}

// change replaces limits by those of to. Limits that to leaves out stay.
func change(limits, to *cm.ResourceConfig) {
	set(&limits.CPUPeriod, to.CPUPeriod)
	set(&limits.CPUQuota, to.CPUQuota)
	set(&limits.CPUShares, to.CPUShares)
	set(&limits.Memory, to.Memory)
}

// set replaces a limit, unless the new one is left out.
func set[T any](limit **T, to *T) {
	if to != nil {
		*limit = to
	}
}

func (p *podCgroups) read(name cm.CgroupName) (*cm.ResourceConfig, error) {
	text, err := os.ReadFile(p.path(name, limitsFile))
	if err != nil {
		return nil, fmt.Errorf("read cgroup: %w", err)
	}
	// As in the kernel, a limit that was never set has a value too.
	period, shares, unlimited := uint64(p.cpuPeriod.Microseconds()), uint64(cm.MinShares), int64(-1)
	limits := &cm.ResourceConfig{CPUPeriod: &period, CPUShares: &shares, CPUQuota: &unlimited, Memory: &unlimited}
	var written cm.ResourceConfig
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, fmt.Errorf("read cgroup %s: %w", p.path(name), err)
	}
	change(limits, &written)
	return limits, nil
}

func (p *podCgroups) write(name cm.CgroupName, limits *cm.ResourceConfig) error {
	text, err := json.Marshal(limits)
	if err != nil {
		return fmt.Errorf("write cgroup: %w", err)
	}
	if err := os.WriteFile(p.path(name, limitsFile), text, 0o644); err != nil {
		return fmt.Errorf("write cgroup: %w", err)
	}
	return nil
}
