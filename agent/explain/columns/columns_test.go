package columns

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

var now = time.Date(2026, 11, 25, 15, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func metaAgo(d time.Duration) metav1.Time { return metav1.NewTime(ago(d)) }

// wants are the resources of the container of a pod that runs well.
func wants(cpu, cpuLimit, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse(cpuLimit), "memory": resource.MustParse(memory)},
	}
}

// well is a pod that runs well, as all places have it.
func well() *evidence.Snapshot {
	own := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", Generation: 2, CreationTimestamp: metaAgo(time.Hour)},
		Spec: corev1.PodSpec{
			HostUsers:      &own,
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}},
			Containers:     []corev1.Container{{Name: "app", Image: "web:1", Resources: wants("100m", "200m", "64Mi")}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}},
				{Name: "conf", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.7",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metaAgo(time.Hour)},
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: metaAgo(time.Hour)},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", RestartCount: 1, State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metaAgo(30 * time.Minute)}}}},
		},
	}
	pod.Spec.Containers[0].Resources.Limits["example.com/gpu"] = resource.MustParse("1")
	yes, has := true, pod.DeepCopy()
	return &evidence.Snapshot{
		Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: pod, KubeletPod: has,
		Cluster: evidence.Cluster{Claims: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-7"}}}},
		Kubelet: &evidence.Kubelet{HasPod: &yes, Status: has.Status.DeepCopy()},
		Runtime: &evidence.Runtime{
			Sandboxes: []evidence.Sandbox{{ID: "s", Ready: true, Created: ago(time.Hour), IP: "10.0.0.7"}},
			Containers: []evidence.Container{{Name: "app", State: "running", Attempt: 1, Created: ago(31 * time.Minute), Started: ago(30 * time.Minute),
				Image: "docker.io/library/web:1", Limits: &evidence.Limits{CPUShares: 102, CPUQuota: 20000, CPUPeriod: 100000, CPUs: "2-3", MemoryBytes: 64 << 20}}},
		},
		Machine: &evidence.Machine{
			VolumeDirs: []string{"kubernetes.io~csi/pv-7", "kubernetes.io~empty-dir/conf"},
			Cgroup:     &evidence.Cgroup{Processes: 2},
			Checkpoints: &evidence.Checkpoints{
				Allocated: map[string]corev1.ResourceRequirements{"app": wants("100m", "200m", "64Mi")},
				Actuated:  map[string]corev1.ResourceRequirements{"app": wants("100m", "200m", "64Mi")},
				CPUs:      map[string]string{"app": "2-3"}, Claims: []string{"gpu"}, HostIDs: 65536,
				Devices: map[string]map[string][]string{"app": {"example.com/gpu": {"g1"}}},
				Read:    []string{"device-plugins/kubelet_internal_checkpoint"},
			},
		},
	}
}

// TestDiffers changes one thing of a pod that runs well, in one place: one row shows it, and since when.
func TestDiffers(t *testing.T) {
	status := func(s *evidence.Snapshot) *corev1.ContainerStatus { return &s.Pod.Status.ContainerStatuses[0] }
	for _, c := range []struct {
		row    string // empty: nothing differs
		change func(*evidence.Snapshot)
		apart  string
	}{
		{"", func(*evidence.Snapshot) {}, ""},
		{"the pod", func(s *evidence.Snapshot) { no := false; s.Kubelet, s.KubeletPod = &evidence.Kubelet{HasPod: &no}, nil }, "differs for 1h"},
		{"the pod", func(s *evidence.Snapshot) { s.Pod, s.Origins = nil, []evidence.Origin{{Source: evidence.API}} }, "differs"},
		{"spec", func(s *evidence.Snapshot) { s.Pod.Generation = 3 }, "differs"},
		{"deletion", func(s *evidence.Snapshot) {
			at, grace := metaAgo(30*time.Second), int64(30)
			s.Pod.DeletionTimestamp, s.Pod.DeletionGracePeriodSeconds = &at, &grace
		}, "differs for 1m"},
		{"phase", func(s *evidence.Snapshot) { s.Kubelet.Status.Phase = corev1.PodFailed }, "differs"},
		{"phase", func(s *evidence.Snapshot) {
			s.Kubelet.Status = nil
			s.Story = &evidence.Story{Phase: "Failed", StatusAt: ago(20 * time.Second)}
		}, "differs"},
		{"", func(s *evidence.Snapshot) { s.Kubelet.Status, s.Story = nil, &evidence.Story{Phase: "Failed"} }, ""},
		{"ready", func(s *evidence.Snapshot) {
			s.Kubelet.Status.Conditions[0].Status = corev1.ConditionFalse
			s.Kubelet.Status.Conditions[0].LastTransitionTime = metaAgo(time.Minute)
		}, "differs for 1m"},
		{"sandbox", func(s *evidence.Snapshot) { s.Machine.Cgroup.Processes = 0 }, "differs for 1h"},
		{"address", func(s *evidence.Snapshot) { s.Runtime.Sandboxes[0].IP = "10.0.0.8" }, "differs for 1h"},
		{"volumes", func(s *evidence.Snapshot) { s.Machine.VolumeDirs = s.Machine.VolumeDirs[1:] }, "differs"},
		{"claims", func(s *evidence.Snapshot) { s.Machine.Checkpoints.Claims = nil }, "differs"},
		{"user namespace", func(s *evidence.Snapshot) { s.Machine.Checkpoints.HostIDs = 0 }, "differs"},
		{"app state", func(s *evidence.Snapshot) {
			c := &s.Runtime.Containers[0]
			c.State, c.ExitCode, c.Finished = "exited", 137, ago(12*time.Second)
		}, "differs for 12 s"},
		{"app state", func(s *evidence.Snapshot) {
			s.Runtime.Containers = nil
		}, "differs for 30m"},
		{"app restarts", func(s *evidence.Snapshot) { status(s).RestartCount = 0 }, "differs for 30m"},
		{"app image", func(s *evidence.Snapshot) { s.Runtime.Containers[0].Image = "docker.io/library/web:2" }, "differs"},
		{"app cpu", func(s *evidence.Snapshot) {
			s.Machine.Checkpoints.CPUs, s.Runtime.Containers[0].Limits.CPUQuota = nil, 10000
		}, "differs"},
		{"", func(s *evidence.Snapshot) { s.Runtime.Containers[0].Limits.CPUQuota = 0 }, ""}, // it has CPUs of its own
		{"app cpu", func(s *evidence.Snapshot) {
			s.Machine.Checkpoints.Actuated["app"] = wants("50m", "200m", "64Mi")
		}, "differs"},
		{"app memory", func(s *evidence.Snapshot) { s.Runtime.Containers[0].Limits.MemoryBytes = 32 << 20 }, "differs"},
		{"app memory", func(s *evidence.Snapshot) {
			has := wants("100m", "200m", "32Mi")
			status(s).Resources = &has
		}, "differs"},
		{"app CPUs", func(s *evidence.Snapshot) { s.Runtime.Containers[0].Limits.CPUs = "0-3" }, "differs for 30m"},
		{"app devices", func(s *evidence.Snapshot) { s.Machine.Checkpoints.Devices = nil }, "differs"},
		// What is no difference, though it is not the same.
		{"", func(s *evidence.Snapshot) { s.Kubelet, s.KubeletPod = nil, nil }, ""},
		{"", func(s *evidence.Snapshot) { s.Runtime = nil }, ""},
		{"", func(s *evidence.Snapshot) { s.Machine = nil }, ""},
		{"", func(s *evidence.Snapshot) { s.Runtime.Containers[0].Limits = nil }, ""},
		{"", func(s *evidence.Snapshot) { // the kubelet does not limit CPUs
			l := s.Runtime.Containers[0].Limits
			l.CPUQuota, l.CPUPeriod = 0, 0
		}, ""},
		{"", func(s *evidence.Snapshot) { // it waits for its next start
			for _, st := range []*corev1.PodStatus{&s.Pod.Status, s.Kubelet.Status} {
				of := &st.ContainerStatuses[0]
				of.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
				of.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
			}
			s.Runtime.Containers[0].State = "exited"
		}, ""},
	} {
		s := well()
		c.change(s)
		var got []string
		table := Of(s)
		for _, r := range table.Differing() {
			got = append(got, r.Name(words.English))
			if apart := r.Apart(words.English, now); apart != c.apart && c.row == r.Name(words.English) {
				t.Errorf("%s: %s, want %s", c.row, apart, c.apart)
			}
		}
		if c.row == "" && len(got) > 0 || c.row != "" && !slices.Contains(got, c.row) {
			t.Errorf("%q is to differ: %q do", c.row, got)
		}
		if c.row != "app state" && c.row != "the pod" && len(got) > 1 {
			t.Errorf("more than %q differs: %q", c.row, got)
		}
	}
}

// TestNews: a difference that began just now may be news on its way.
func TestNews(t *testing.T) {
	s := well()
	c := &s.Runtime.Containers[0]
	c.State, c.Finished = "exited", ago(time.Second)
	table := Of(s)
	if rows := table.Differing(); len(rows) > 0 {
		t.Errorf("%+v", rows)
	}
	if !slices.ContainsFunc(table.Rows, func(r Row) bool { return r.Differs }) {
		t.Error("no row differs")
	}
}

// TestNoPod: of an object that is no pod, and of nothing at all, there are no columns.
func TestNoPod(t *testing.T) {
	for _, s := range []*evidence.Snapshot{{}, {Name: evidence.Name{Kind: evidence.KindNode, Name: "n"}, Pod: &corev1.Pod{}}} {
		if table := Of(s); table != nil || len(table.Differing()) > 0 {
			t.Errorf("%+v", table)
		}
	}
}

// TestNothingKnown: whatever part of a snapshot is missing, no place claims to have it.
func TestNothingKnown(t *testing.T) {
	s := &evidence.Snapshot{Taken: now, Runtime: &evidence.Runtime{}}
	table := Of(s)
	for _, r := range table.Rows {
		for _, p := range Places {
			if text := r.Cells[p].In(words.English, now); text != "" && !table.Seen[p] {
				t.Errorf("%s: %s says %q and was not seen", r.Name(words.English), p, text)
			}
		}
	}
}

func TestWholeImage(t *testing.T) {
	for name, want := range map[string]string{
		"web": "docker.io/library/web:latest", "shop/web:2": "docker.io/shop/web:2", "example.com/web": "example.com/web:latest",
		"localhost/web:1": "localhost/web:1", "web@sha256:0f": "docker.io/library/web@sha256:0f", "r:5000/web": "r:5000/web:latest",
	} {
		if got := wholeImage(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
