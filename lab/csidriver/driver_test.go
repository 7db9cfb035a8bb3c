package csidriver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// newDriver returns a driver with its directories, and a directory for targets.
func newDriver(t *testing.T) (d *driver, targets string) {
	t.Helper()
	d = &driver{node: "node-1", dir: t.TempDir()}
	for _, kind := range []string{"volumes", "ephemeral", "staged"} {
		if err := os.Mkdir(filepath.Join(d.dir, kind), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return d, t.TempDir()
}

func publish(t *testing.T, d *driver, id, target string, of map[string]string) codes.Code {
	t.Helper()
	_, err := d.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: id, TargetPath: target, VolumeContext: of})
	return status.Code(err)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestLife: a volume is staged, published to two pods, and keeps its content when both are gone. The kubelet may ask
// twice for each.
func TestLife(t *testing.T) {
	d, targets := newDriver(t)
	first, second := filepath.Join(targets, "first"), filepath.Join(targets, "second")
	if code := publish(t, d, "data", first, nil); code != codes.FailedPrecondition {
		t.Errorf("a volume that is not staged is published: %v", code)
	}
	for range 2 {
		if _, err := d.NodeStageVolume(t.Context(), &csi.NodeStageVolumeRequest{VolumeId: "data", StagingTargetPath: targets}); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{first, second} {
			if code := publish(t, d, "data", target, nil); code != codes.OK {
				t.Fatal(code)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(first, "page"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(second, "page")) {
		t.Error("the second pod does not see what the first has written")
	}
	for range 2 {
		for _, target := range []string{first, second} {
			if _, err := d.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "data", TargetPath: target}); err != nil {
				t.Fatal(err)
			}
			if exists(target) {
				t.Errorf("%s is still there", target)
			}
		}
		if _, err := d.NodeUnstageVolume(t.Context(), &csi.NodeUnstageVolumeRequest{VolumeId: "data", StagingTargetPath: targets}); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(d.path("volumes", "data")+"/page") || exists(d.path("staged", "data")) {
		t.Error("the volume has lost its content, or is still staged")
	}
}

// TestEphemeral: a volume that a pod's specification describes needs no staging, and goes with its pod.
func TestEphemeral(t *testing.T) {
	d, targets := newDriver(t)
	target := filepath.Join(targets, "pod")
	if code := publish(t, d, "csi-1", target, map[string]string{ephemeral: "true"}); code != codes.OK {
		t.Fatal(code)
	}
	if err := os.WriteFile(filepath.Join(target, "page"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: target}); err != nil {
		t.Fatal(err)
	}
	if exists(target) || exists(d.path("ephemeral", "csi-1")) {
		t.Error("the volume is still there")
	}
}

// TestRefused: an ID that would name a file elsewhere is refused, and a target that is in the way stays.
func TestRefused(t *testing.T) {
	d, targets := newDriver(t)
	for _, id := range []string{"", ".", "..", "../volumes/data", "a/b"} {
		if code := publish(t, d, id, targets+"/pod", map[string]string{ephemeral: "true"}); code != codes.InvalidArgument {
			t.Errorf("%q: %v", id, code)
		}
	}
	if code := publish(t, d, "data", "pod", map[string]string{ephemeral: "true"}); code != codes.InvalidArgument {
		t.Errorf("a relative path: %v", code)
	}
	if code := publish(t, d, "data", targets, map[string]string{ephemeral: "true"}); code != codes.Internal {
		t.Errorf("a directory in the way: %v", code)
	}
}
