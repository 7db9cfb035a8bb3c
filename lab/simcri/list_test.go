package simcri

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestListsAndFilters(t *testing.T) {
	n := start(t, "")
	boxA, idA := n.launch("a", nil, "sleep", "infinity")
	boxB, idB := n.launch("b", nil, "sleep", "infinity")
	if _, err := n.StopPodSandbox(n.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: boxB}); err != nil {
		t.Fatal(err)
	}
	ready := &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY}
	exited := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED}
	for _, c := range []struct {
		filter *runtimeapi.PodSandboxFilter
		want   string
	}{
		{nil, boxA + boxB},
		{&runtimeapi.PodSandboxFilter{Id: boxB}, boxB},
		{&runtimeapi.PodSandboxFilter{State: ready}, boxA},
		{&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"app": "b"}}, boxB},
		{&runtimeapi.PodSandboxFilter{Id: boxA, LabelSelector: map[string]string{"app": "b"}}, ""},
	} {
		r, err := n.ListPodSandbox(n.ctx, &runtimeapi.ListPodSandboxRequest{Filter: c.filter})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, b := range r.Items {
			got += b.Id
		}
		if got != c.want {
			t.Errorf("%v: %s", c.filter, got)
		}
	}
	for _, c := range []struct {
		filter *runtimeapi.ContainerFilter
		want   string
	}{
		{nil, idA + idB},
		{&runtimeapi.ContainerFilter{State: exited}, idB},
		{&runtimeapi.ContainerFilter{PodSandboxId: boxA}, idA},
		{&runtimeapi.ContainerFilter{Id: idB, PodSandboxId: boxA}, ""},
	} {
		r, err := n.ListContainers(n.ctx, &runtimeapi.ListContainersRequest{Filter: c.filter})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, b := range r.Containers {
			got += b.Id
		}
		if got != c.want {
			t.Errorf("%v: %s", c.filter, got)
		}
	}
	stream, err := n.StreamContainers(n.ctx, &runtimeapi.StreamContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || len(r.Containers) != 2 {
		t.Errorf("%v %v", r, err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("the stream does not end: %v", err)
	}
}

func TestStats(t *testing.T) {
	n := start(t, "")
	box, id := n.launch("a", map[string]string{Prefix + "memory": "64Mi", Prefix + "cpu": "250m"}, "sleep", "infinity")
	c, err := n.ContainerStats(n.ctx, &runtimeapi.ContainerStatsRequest{ContainerId: id})
	if err != nil || c.Stats.Memory.WorkingSetBytes.Value != 64<<20 || c.Stats.Cpu.UsageNanoCores.Value != 250_000_000 || c.Stats.Attributes.Metadata.Name != "app" {
		t.Errorf("%v %v", c, err)
	}
	p, err := n.PodSandboxStats(n.ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: box})
	if err != nil || p.Stats.Linux.Memory.WorkingSetBytes.Value != 64<<20+pauseMemory || len(p.Stats.Linux.Containers) != 1 || p.Stats.Linux.Process.ProcessCount.Value != 2 {
		t.Errorf("%v %v", p, err)
	}
	descriptors, err := n.ListMetricDescriptors(n.ctx, &runtimeapi.ListMetricDescriptorsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, d := range descriptors.Descriptors {
		named[d.Name] = true
	}
	m, err := n.ListPodSandboxMetrics(n.ctx, &runtimeapi.ListPodSandboxMetricsRequest{})
	if err != nil || len(m.PodMetrics) != 1 || len(m.PodMetrics[0].ContainerMetrics) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	for _, metric := range m.PodMetrics[0].Metrics {
		if !named[metric.Name] {
			t.Errorf("%s has no descriptor", metric.Name)
		}
	}
	if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	l, err := n.ListContainerStats(n.ctx, &runtimeapi.ListContainerStatsRequest{})
	if err != nil || len(l.Stats) != 0 {
		t.Errorf("an exited container has figures: %v %v", l, err)
	}
}

func TestUpdateResources(t *testing.T) {
	n := start(t, "")
	_, id := n.launch("a", nil, "sleep", "infinity")
	for _, r := range []*runtimeapi.LinuxContainerResources{{CpuShares: 512, CpuQuota: 5000}, {MemoryLimitInBytes: 64 << 20, CpuQuota: 9000}} {
		if _, err := n.UpdateContainerResources(n.ctx, &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Linux: r}); err != nil {
			t.Fatal(err)
		}
	}
	if l := n.statusOf(id).Resources.Linux; l.CpuShares != 512 || l.CpuQuota != 9000 || l.MemoryLimitInBytes != 64<<20 {
		t.Errorf("%v", l)
	}
}

func TestImages(t *testing.T) {
	n := start(t, "images:\n- {name: '*/app:*', size: 30Mi, user: '1001'}\n- {name: '*/named:*', user: www}\n")
	pull := func(name string) string {
		t.Helper()
		r, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: name}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ImageRef
	}
	ask := func(name string) *runtimeapi.Image {
		t.Helper()
		r, err := n.ImageStatus(n.ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: name}, Verbose: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Image
	}
	if i := ask(pauseImage); i == nil || !i.Pinned {
		t.Errorf("pause: %v", i)
	}
	if ask("app:v1") != nil {
		t.Error("an image is there that nobody pulled")
	}
	id := pull("app:v1")
	i := ask("app:v1")
	if i == nil || i.Id != id || i.Size != 30<<20 || i.Uid.GetValue() != 1001 || i.RepoTags[0] != "docker.io/library/app:v1" || !strings.HasPrefix(id, "sha256:") {
		t.Fatalf("%v", i)
	}
	for _, name := range []string{id, i.RepoDigests[0], "docker.io/library/app:v1"} {
		if got := ask(name); got.GetId() != id {
			t.Errorf("%s: %v", name, got)
		}
	}
	if pull(i.RepoDigests[0]) != id || len(ask(id).RepoTags) != 1 {
		t.Errorf("by digest: %v", ask(id))
	}
	if u := ask(pull("named:v1")); u.Username != "www" || u.Uid != nil {
		t.Errorf("%v", u)
	}
	if l, err := n.ListImages(n.ctx, &runtimeapi.ListImagesRequest{Filter: &runtimeapi.ImageFilter{Image: &runtimeapi.ImageSpec{Image: "app:v1"}}}); err != nil || len(l.Images) != 1 {
		t.Errorf("%v %v", l, err)
	}
	for range 2 {
		if _, err := n.RemoveImage(n.ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}}); err != nil {
			t.Fatal(err)
		}
	}
	if ask(id) != nil {
		t.Error("a removed image is there")
	}
	_, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "Not An Image"}})
	wantCode(t, err, codes.InvalidArgument)
	fs, err := n.ImageFsInfo(n.ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil || fs.ImageFilesystems[0].UsedBytes.Value == 0 {
		t.Errorf("%v %v", fs, err)
	}
	if _, err := os.Stat(fs.ImageFilesystems[0].FsId.Mountpoint); err != nil {
		t.Error(err)
	}
}

func TestLogs(t *testing.T) {
	n := start(t, "")
	long := strings.Repeat("x", maxLine+10)
	_, id := n.launch("a", nil, "sh", "-c", "echo "+long+"; echo err >&2; echo -n half; while [ ! -f /tmp/go ]; do sleep 0.01; done; echo after")
	file := filepath.Join(n.dir, "logs", "a", "app.log")
	for !strings.Contains(readFile(t, file), "err") {
	}
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ReopenContainerLog(n.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	n.touchLast(id, "/tmp/go")
	n.exitOf(id)
	if got := n.logOf("a"); got != "stdout F halfafter\n" {
		t.Errorf("new log %q", got)
	}
	os.Rename(file+".1", file)
	if got, want := n.logOf("a"), "stdout P "+long[:maxLine]+"\nstdout F "+long[maxLine:]+"\nstderr F err\n"; got != want {
		t.Errorf("old log of %d bytes, want %d", len(got), len(want))
	}
	_, err := n.ReopenContainerLog(n.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	wantCode(t, err, codes.FailedPrecondition)
}

// TestManyPods: hundreds of pods start at once, are counted, and go.
func TestManyPods(t *testing.T) {
	n := start(t, "")
	const pods = 300
	var all sync.WaitGroup
	addresses := make([]string, pods)
	for i := range pods {
		all.Go(func() {
			name := fmt.Sprintf("pod-%d", i)
			_, _ = n.launch(name, nil, "httpd", "-f", "-p", "18080")
		})
	}
	all.Wait()
	boxes, err := n.ListPodSandbox(n.ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil || len(boxes.Items) != pods {
		t.Fatalf("%d sandboxes, %v", len(boxes.Items), err)
	}
	for i, b := range boxes.Items {
		all.Go(func() {
			st, err := n.PodSandboxStatus(n.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: b.Id})
			if err != nil {
				t.Error(err)
				return
			}
			addresses[i] = st.Status.Network.Ip
			if _, err := n.RemovePodSandbox(n.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: b.Id}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, a := range addresses {
		if seen[a] {
			t.Errorf("two pods have %s", a)
		}
		seen[a] = true
	}
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	if len(n.s.containers)+len(n.s.sandboxes)+len(n.s.names)+len(n.s.addresses.used) != 0 {
		t.Errorf("left: %d containers, %d sandboxes, %d names, %d addresses", len(n.s.containers), len(n.s.sandboxes), len(n.s.names), len(n.s.addresses.used))
	}
}

// TestTwoLabs: two labs do not give out the same addresses.
func TestTwoLabs(t *testing.T) {
	a, b := start(t, ""), start(t, "")
	if a.s.addresses.network.Overlaps(b.s.addresses.network) {
		t.Errorf("%s and %s", a.s.addresses.network, b.s.addresses.network)
	}
}

// TestFilesStayInside: no name and no link leads a container's commands out of its files.
func TestFilesStayInside(t *testing.T) {
	n := start(t, "")
	secret, volume := filepath.Join(n.dir, "secret"), n.volume("a", "v")
	writeFile(t, secret, "do not read")
	if err := os.Symlink(secret, filepath.Join(volume, "link")); err != nil {
		t.Fatal(err)
	}
	config := n.pod("a", nil)
	id := n.createFrom(n.run(config), config, &runtimeapi.ContainerConfig{Command: []string{"sleep", "infinity"},
		Mounts: []*runtimeapi.Mount{{ContainerPath: "/v", HostPath: volume}, {ContainerPath: "/host", HostPath: n.dir}}})
	n.begin(id)
	for _, name := range []string{"/v/link", "/v/../.." + secret, secret, "/../../../../.." + secret} {
		n.exec(id, 1, "cat", name)
		n.exec(id, 1, "cp", "/etc/hostname", name)
	}
	if got := readFile(t, secret); got != "do not read" {
		t.Errorf("%q", got)
	}
	if r := n.exec(id, 0, "ls", "/"); !strings.Contains(string(r.Stdout), "tmp\nusr\nv\nvar\n") {
		t.Errorf("ls / gives %q", r.Stdout)
	}
	n.exec(id, 1, "rm", "-rf", "/v")
	n.exec(id, 0, "cat", "/host/secret") // a hostPath is read
	n.exec(id, 1, "cp", "/etc/hostname", "/host/secret")
	n.exec(id, 1, "rm", "-f", "/host/secret")
	n.exec(id, 1, "mkdir", "/host/d")
	n.exec(id, 0, "rm", "-rf", "/v/link")
}
