package dradriver

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// claim returns a claim to which devices are allocated.
func claim(uid types.UID, devices ...string) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c-" + string(uid), Namespace: "default", UID: uid}}
	c.Status.Allocation = &resourceapi.AllocationResult{}
	results := &c.Status.Allocation.Devices.Results
	for _, d := range devices {
		*results = append(*results, resourceapi.DeviceRequestAllocationResult{Request: "one", Driver: Name, Pool: "node-1", Device: d})
	}
	// Another driver's device is not ours to prepare.
	*results = append(*results, resourceapi.DeviceRequestAllocationResult{Request: "other", Driver: "other.example", Pool: "node-1", Device: "device-0"})
	return c
}

// prepared returns what the driver answers about one claim.
func prepared(t *testing.T, d *driver, c *resourceapi.ResourceClaim) kubeletplugin.PrepareResult {
	t.Helper()
	all, err := d.PrepareResourceClaims(t.Context(), []*resourceapi.ResourceClaim{c})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	return all[c.UID]
}

// TestPrepare: a claim gets its device, and no other claim gets it until it is given back. Both may be asked twice, and
// by another process.
func TestPrepare(t *testing.T) {
	dir := specs(t.TempDir())
	want := []kubeletplugin.Device{{Requests: []string{"one"}, PoolName: "node-1", DeviceName: "device-0", CDIDeviceIDs: []string{"podstep.dev/device=a-device-0"}}}
	for range 2 {
		got := prepared(t, &driver{node: "node-1", specs: dir}, claim("a", "device-0"))
		if got.Err != nil || !reflect.DeepEqual(got.Devices, want) {
			t.Fatalf("%+v", got)
		}
	}
	text, err := os.ReadFile(dir.file("a"))
	if err != nil {
		t.Fatal(err)
	}
	const spec = `{"cdiVersion":"0.6.0","kind":"podstep.dev/device","devices":[{"name":"a-device-0","containerEdits":{"env":["PODSTEP_DEVICE=device-0"]}}]}`
	if string(text) != spec {
		t.Errorf("spec is %s", text)
	}
	d := &driver{node: "node-1", specs: dir}
	if got := prepared(t, d, claim("b", "device-0")); got.Err == nil || !strings.Contains(got.Err.Error(), "prepared for the claim with UID a") {
		t.Errorf("another claim gets the same device: %+v", got)
	}
	if got := prepared(t, d, claim("b", "device-1")); got.Err != nil {
		t.Errorf("another claim does not get another device: %v", got.Err)
	}
	for range 2 {
		errs, err := d.UnprepareResourceClaims(t.Context(), []kubeletplugin.NamespacedObject{{UID: "a"}})
		if e, ok := errs["a"]; err != nil || e != nil || !ok {
			t.Fatalf("unprepare: %v, %v", errs, err)
		}
	}
	if got := prepared(t, d, claim("c", "device-0")); got.Err != nil {
		t.Errorf("a device that was given back is not free: %v", got.Err)
	}
	if left, _ := filepath.Glob(string(dir) + "/*.new"); len(left) > 0 {
		t.Errorf("half files are left: %v", left)
	}
}

// TestPrepareFails: a claim that cannot be prepared gets an error, and the others get their devices.
func TestPrepareFails(t *testing.T) {
	d := &driver{node: "node-1", specs: specs(t.TempDir())}
	bare := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "bare", UID: "bare"}}
	all, err := d.PrepareResourceClaims(t.Context(), []*resourceapi.ResourceClaim{bare, claim("a", "device-0")})
	if err != nil || all["bare"].Err == nil || all["a"].Err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	d.specs = "/proc/none"
	if got := prepared(t, d, claim("b", "device-1")); got.Err == nil {
		t.Error("a claim whose spec cannot be written is prepared")
	}
}
