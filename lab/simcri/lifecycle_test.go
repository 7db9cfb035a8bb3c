package simcri

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestLifeOfAPod(t *testing.T) {
	n := start(t, "")
	config := n.pod("web", nil)
	box := n.run(config)
	if len(box) != 64 {
		t.Errorf("id %q", box)
	}
	_, err := n.RunPodSandbox(n.ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	wantCode(t, err, codes.Unknown, "is reserved for")

	st, err := n.PodSandboxStatus(n.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: box})
	if err != nil || st.Status.State != runtimeapi.PodSandboxState_SANDBOX_READY || st.Status.Network.Ip == "" {
		t.Fatalf("%v %v", st, err)
	}
	id := n.create(box, config, "sleep", "infinity")
	if s := n.statusOf(id); s.State != runtimeapi.ContainerState_CONTAINER_CREATED || s.StartedAt != 0 || s.CreatedAt == 0 {
		t.Errorf("created: %v", s)
	}
	n.begin(id)
	if s := n.statusOf(id); s.State != runtimeapi.ContainerState_CONTAINER_RUNNING || s.ImageId == "" || s.ImageRef == "" || s.StartedAt == 0 {
		t.Errorf("running: %v", s)
	}
	_, err = n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	wantCode(t, err, codes.FailedPrecondition, "CONTAINER_RUNNING")

	for range 2 {
		if _, err := n.StopPodSandbox(n.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: box}); err != nil {
			t.Fatal(err)
		}
	}
	if s := n.statusOf(id); s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != 137 || s.Reason != "Error" || s.FinishedAt == 0 {
		t.Errorf("killed: %v", s)
	}
	_, err = n.CreateContainer(n.ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: box, SandboxConfig: config, Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "late"}}})
	wantCode(t, err, codes.Unknown, "is not running")
	for range 2 {
		if _, err := n.RemovePodSandbox(n.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: box}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = n.ContainerStatus(n.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	wantCode(t, err, codes.NotFound)
	_, err = n.PodSandboxStatus(n.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: box})
	wantCode(t, err, codes.NotFound)
	e := n.await(box, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	if e.PodSandboxStatus.GetMetadata().GetUid() != "web-uid" {
		t.Errorf("the last event has no sandbox: %v", e)
	}
	n.run(config) // the name is free again
}

func TestThingsThatAreNotThere(t *testing.T) {
	n := start(t, "")
	if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: "none"}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemoveContainer(n.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: "none"}); err != nil {
		t.Error(err)
	}
	if _, err := n.StopPodSandbox(n.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "none"}); err != nil {
		t.Error(err)
	}
	_, err := n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: "none"})
	wantCode(t, err, codes.NotFound)
	_, err = n.ExecSync(n.ctx, &runtimeapi.ExecSyncRequest{ContainerId: "none", Cmd: []string{"true"}})
	wantCode(t, err, codes.NotFound)
	_, err = n.ContainerStats(n.ctx, &runtimeapi.ContainerStatsRequest{ContainerId: "none"})
	wantCode(t, err, codes.NotFound)
}

// TestExamples runs the commands of docs/examples.
func TestExamples(t *testing.T) {
	n := start(t, "")
	_, crash := n.launch("crashloop", nil, "sh", "-c", "echo no configuration >&2; exit 1")
	if s := n.exitOf(crash); s.ExitCode != 1 || s.Reason != "Error" {
		t.Errorf("crashloop: %v", s)
	}
	if got, want := n.logOf("crashloop"), "stderr F no configuration\n"; got != want {
		t.Errorf("log %q", got)
	}
	_, job := n.launch("job", nil, "sh", "-c", "seq 1 10")
	if s := n.exitOf(job); s.ExitCode != 0 || s.Reason != "Completed" {
		t.Errorf("job: %v", s)
	}
	_, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "busybox:no-such-tag"}})
	wantCode(t, err, codes.NotFound, `failed to resolve reference "docker.io/library/busybox:no-such-tag"`)
}

// TestWeb runs docs/examples/web.yaml: an init container fills a volume, a server serves it, a hook changes it, and a
// trap ends it.
func TestWeb(t *testing.T) {
	n := start(t, "")
	www, etc := n.volume("web", "www"), n.volume("web", "config")
	if err := os.WriteFile(filepath.Join(etc, "greeting"), []byte("hello from a pod\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := n.pod("web", nil)
	box := n.run(config)
	mounts := []*runtimeapi.Mount{
		{ContainerPath: "/www", HostPath: www},
		{ContainerPath: "/config", HostPath: etc, Readonly: true},
	}
	init := n.createFrom(box, config, &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "init"},
		Command: []string{"sh", "-c", "cp /config/greeting /www/index.html"}, Mounts: mounts})
	n.begin(init)
	if s := n.exitOf(init); s.ExitCode != 0 {
		t.Fatalf("init: %v", s)
	}
	app := n.createFrom(box, config, &runtimeapi.ContainerConfig{Mounts: mounts,
		Command: []string{"sh", "-c", "trap 'exit 0' TERM; httpd -f -v -p 18080 -h /www & wait"}})
	n.begin(app)

	st, err := n.PodSandboxStatus(n.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: box})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, "http://"+st.Status.Network.Ip+":18080/"); got.code != http.StatusOK || got.body != "hello from a pod\n" {
		t.Errorf("%+v", got)
	}
	n.exec(app, 0, "test", "-f", "/www/index.html")
	n.exec(app, 1, "test", "-f", "/www/none")
	n.exec(app, 0, "sh", "-c", "echo goodbye > /www/index.html")
	if data, _ := os.ReadFile(filepath.Join(www, "index.html")); string(data) != "goodbye\n" {
		t.Errorf("the hook wrote %q", data)
	}
	n.exec(app, 1, "sh", "-c", "echo x > /config/greeting")
	if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: app, Timeout: 60}); err != nil {
		t.Fatal(err)
	}
	if s := n.statusOf(app); s.ExitCode != 0 || s.Reason != "Completed" {
		t.Errorf("stopped: %v", s)
	}
}
