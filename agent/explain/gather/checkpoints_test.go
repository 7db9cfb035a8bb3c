package gather

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// someCheckpoints are texts as kubelets of several minors write them.
var someCheckpoints = []struct{ minor, file, text string }{
	{"v1.37", "allocated_pods_state", `{"data":"{\"entries\":{\"u1\":{\"ContainerResources\":{\"app\":{\"limits\":{\"cpu\":\"200m\"},\"requests\":{\"cpu\":\"100m\"}}},\"PodLevelResources\":null},\"u2\":{\"ContainerResources\":{\"app\":{}}}}}","checksum":3150478463}`},
	{"v1.33", "actuated_pods_state", `{"data":"{\"entries\":{\"u1\":{\"ContainerResources\":{\"app\":{\"requests\":{\"cpu\":\"90m\"}}}}}}","checksum":1}`},
	{"v1.32", "pod_status_manager_state", `{"data":"{\"allocationEntries\":{\"u1\":{\"app\":{\"requests\":{\"cpu\":\"100m\"}}}}}","checksum":1}`},
	{"v1.29", "pod_status_manager_state", `{"allocationEntries":{"u1":{"app":{"cpu":"100m","memory":"1Mi"}}},"checksum":1}`},
	{"v1.37", "cpu_manager_state", `{"policyName":"static","defaultCpuSet":"0-1","entries":{"u1":{"app":"2-3"}},"checksum":1,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"u1\":{\"app\":\"2-3\"}}}","dataChecksum":2}`},
	{"v1.30", "cpu_manager_state", `{"policyName":"static","defaultCpuSet":"0-1","entries":{"u1":{"app":"4"},"u2":{"app":"5"}},"checksum":1}`},
	{"v1.36", "memory_manager_state", `{"policyName":"Static","machineState":{},"entries":{"u1":{"app":[{"numaAffinity":[0],"type":"memory","size":1024},{"numaAffinity":[1],"type":"memory","size":1024}]}},"checksum":1}`},
	{"v1.37", "dra_manager_state", `{"Data":"{\"kind\":\"DRACheckpoint\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"c\",\"ClaimName\":\"gpu\",\"Namespace\":\"default\",\"PodUIDs\":{\"u1\":{}}},{\"ClaimName\":\"other\",\"PodUIDs\":{\"u2\":{}}}]}","Checksum":1}`},
	{"v1.29", "dra_manager_state", `{"version":"v1","entries":[{"ClaimName":"gpu","PodUIDs":{"u1":{}}}],"checksum":1}`},
	{"v1.37", "device-plugins/kubelet_internal_checkpoint", `{"Data":{"PodDeviceEntries":[{"PodUID":"u1","ContainerName":"app","ResourceName":"example.com/gpu","DeviceIDs":{"0":["g2"],"1":["g1"]},"AllocResp":"c2VjcmV0"},{"PodUID":"u2","ContainerName":"app","ResourceName":"example.com/gpu","DeviceIDs":{"0":["g3"]}}],"RegisteredDevices":{}},"Checksum":1}`},
}

func TestParseCheckpoints(t *testing.T) {
	q := resource.MustParse
	requests := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": q(cpu)}}
	}
	both := requests("100m")
	both.Limits = corev1.ResourceList{"cpu": q("200m")}
	old := requests("100m")
	old.Requests["memory"] = q("1Mi")
	want := []evidence.Checkpoints{
		{Allocated: map[string]corev1.ResourceRequirements{"app": both}},
		{Actuated: map[string]corev1.ResourceRequirements{"app": requests("90m")}},
		{Allocated: map[string]corev1.ResourceRequirements{"app": requests("100m")}},
		{Allocated: map[string]corev1.ResourceRequirements{"app": old}},
		{CPUs: map[string]string{"app": "2-3"}},
		{CPUs: map[string]string{"app": "4"}},
		{Memory: map[string]map[string]int64{"app": {"memory": 2048}}},
		{Claims: []string{"gpu"}},
		{Claims: []string{"gpu"}},
		{Devices: map[string]map[string][]string{"app": {"example.com/gpu": {"g1", "g2"}}}},
	}
	for i, c := range someCheckpoints {
		var got evidence.Checkpoints
		if err := checkpointNamed(t, c.file).parseCheckpoint([]byte(c.text), "u1", &got); err != nil {
			t.Errorf("%s of %s: %v", c.file, c.minor, err)
		}
		want[i].Read = []string{c.file}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%s of %s:\n got %+v\nwant %+v", c.file, c.minor, got, want[i])
		}
		got = evidence.Checkpoints{}
		if err := checkpointNamed(t, c.file).parseCheckpoint([]byte(c.text), "u3", &got); err != nil || len(got.Claims)+len(got.Allocated)+len(got.Actuated)+len(got.CPUs)+len(got.Devices) > 0 {
			t.Errorf("%s of %s has of another pod: %+v, %v", c.file, c.minor, got, err)
		}
	}
}

// TestStaleCheckpoint: an old file that an update of the kubelet left behind does not hide what the new one has.
func TestStaleCheckpoint(t *testing.T) {
	var got evidence.Checkpoints
	for _, c := range []struct{ file, text string }{
		{"allocated_pods_state", someCheckpoints[0].text}, {"pod_status_manager_state", `{"data":"{\"allocationEntries\":{}}"}`},
	} {
		if err := checkpointNamed(t, c.file).parseCheckpoint([]byte(c.text), "u1", &got); err != nil {
			t.Fatal(err)
		}
	}
	if len(got.Allocated) != 1 {
		t.Errorf("%+v", got)
	}
}

func checkpointNamed(t testing.TB, file string) *checkpoint {
	t.Helper()
	for i := range checkpoints {
		if checkpoints[i].file == file {
			return &checkpoints[i]
		}
	}
	t.Fatalf("there is no checkpoint %s", file)
	return nil
}

func TestParseUserNamespace(t *testing.T) {
	for text, want := range map[string]uint32{
		`{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[]}`: 65536,
		`{}`: 0,
	} {
		if got, err := parseUserNamespace([]byte(text)); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	if _, err := parseUserNamespace([]byte("nonsense")); err == nil {
		t.Error("nonsense is taken")
	}
}

func FuzzCheckpoints(f *testing.F) {
	for _, c := range someCheckpoints {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"data":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got evidence.Checkpoints
		for i := range checkpoints {
			_ = checkpoints[i].parseCheckpoint(text, "u1", &got)
		}
		for name, cpus := range got.CPUs {
			if strings.ContainsAny(name+cpus, "\x1b\n") {
				t.Errorf("CPUs %q of %q", cpus, name)
			}
		}
		for _, name := range got.Claims {
			if strings.ContainsAny(name, "\x1b\n") {
				t.Errorf("claim %q", name)
			}
		}
	})
}
