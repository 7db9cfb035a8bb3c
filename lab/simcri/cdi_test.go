package simcri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestDevices: a container has the variables of its CDI devices. A device that no spec has is an error.
func TestDevices(t *testing.T) {
	n := start(t, "")
	n.s.opts.CDI = t.TempDir()
	spec := `{"cdiVersion": "0.6.0", "kind": "v.example/d", "devices": [{"name": "x", "containerEdits": {"env": ["LAMP=green=1"]}}, {"name": "y", "containerEdits": {}}]}`
	if err := os.WriteFile(filepath.Join(n.s.opts.CDI, "a.json"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	config := n.pod("web", nil)
	box := n.run(config)
	image, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: busybox}})
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string, devices ...string) (string, error) {
		c := &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: image.GetImageRef()}, Command: []string{"sleep", "infinity"}}
		for _, d := range devices {
			c.CDIDevices = append(c.CDIDevices, &runtimeapi.CDIDevice{Name: d})
		}
		r, err := n.CreateContainer(n.ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: box, SandboxConfig: config, Config: c})
		return r.GetContainerId(), err
	}
	id, err := create("app", "v.example/d=x", "v.example/d=y")
	if err != nil {
		t.Fatal(err)
	}
	n.begin(id)
	r, err := n.ExecSync(n.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"printenv", "LAMP"}})
	if err != nil || strings.TrimSpace(string(r.GetStdout())) != "green=1" {
		t.Errorf("%q, %v", r.GetStdout(), err)
	}
	_, err = create("late", "v.example/d=x", "v.example/d=z")
	wantCode(t, err, codes.Unknown, "unresolvable CDI devices v.example/d=z")
	if err := os.WriteFile(filepath.Join(n.s.opts.CDI, "b.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = create("broken", "v.example/d=x")
	wantCode(t, err, codes.Unknown, "CDI device injection failed")
}
