//go:build sim || node

package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// partsWorkApart: each part of the lab has an empty working directory of its
// own.
func partsWorkApart(t *testing.T, l *labtest.Lab) {
	t.Helper()
	if len(l.State.Pids) < 6 {
		t.Errorf("the lab has the parts %v", l.State.Pids)
	}
	for part, pid := range l.State.Pids {
		if part == "podstep-lab" {
			continue
		}
		dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		if want := workDir(l, part); err != nil || dir != want {
			t.Fatalf("%s works in %s, not in %s: %v", part, dir, want, err)
		}
		if has := entries(t, dir); len(has) > 0 {
			t.Errorf("the working directory of %s has %v", part, has)
		}
	}
}

func workDir(l *labtest.Lab, part string) string {
	return filepath.Join(l.State.Dir, "node", "cwd", part)
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// cleanerStaysInside makes a container without a log path, as crictl does, and waits until the kubelet has removed
// it. The kubelet's log cleaner then removes the files of the working directory, and none elsewhere. partsWorkApart
// must have succeeded before.
func cleanerStaysInside(t *testing.T, l *labtest.Lab) {
	t.Helper()
	canary := filepath.Join(workDir(l, "kubelet"), "canary")
	if err := os.WriteFile(canary, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{"/", l.State.Dir, filepath.Dir(workDir(l, "kubelet")), filepath.Join(l.State.Dir, "kubelet")}
	before := map[string][]string{}
	for _, dir := range elsewhere {
		before[dir] = entries(t, dir)
	}
	conn, err := grpc.NewClient("unix://"+l.State.CRI, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	image := &runtimeapi.ImageSpec{Image: labtest.BusyboxPod("", "").Spec.Containers[0].Image}
	images := runtimeapi.NewImageServiceClient(conn)
	if has, err := images.ImageStatus(l.Context(), &runtimeapi.ImageStatusRequest{Image: image}); err != nil {
		t.Fatal(err)
	} else if has.GetImage() == nil {
		if _, err := images.PullImage(l.Context(), &runtimeapi.PullImageRequest{Image: image}); err != nil {
			t.Fatal(err)
		}
	}
	id := makeWithoutLog(t, l, runtimeapi.NewRuntimeServiceClient(conn), image)
	labtest.Eventually(t, "the kubelet removes the container", func() bool {
		list, err := runtimeapi.NewRuntimeServiceClient(conn).ListContainers(l.Context(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: id}})
		return err == nil && len(list.GetContainers()) == 0
	})
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the cleaner did not come: the test shows nothing")
	}
	for _, dir := range elsewhere {
		now := entries(t, dir)
		for _, name := range before[dir] {
			if !slices.Contains(now, name) {
				t.Errorf("%s is gone", filepath.Join(dir, name))
			}
		}
	}
}

// makeWithoutLog makes a sandbox and in it a container that never starts.
func makeWithoutLog(t *testing.T, l *labtest.Lab, runtime runtimeapi.RuntimeServiceClient, image *runtimeapi.ImageSpec) string {
	t.Helper()
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "by-hand", Uid: "by-hand", Namespace: "by-hand"},
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: l.State.Cgroup + "/by-hand",
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE},
			},
		},
	}
	made, err := runtime.RunPodSandbox(l.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	container, err := runtime.CreateContainer(l.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: made.GetPodSandboxId(), SandboxConfig: sandbox,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "by-hand"},
			Image:    image,
			Command:  []string{"sleep", "1"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return container.GetContainerId()
}
