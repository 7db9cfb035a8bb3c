package cri

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// story plays calls of pods to an ImageAsker. Ids of containers are
// "uid/name".
type story struct {
	t *testing.T
	*ImageAsker
}

func (s story) call(uid string, q, a proto.Message) {
	s.t.Helper()
	r := decoded(s.t, q)
	s.Began(r, uid)
	ans, err := methodOf(s.t, r).Answer(r, marshal(s.t, a))
	if err != nil {
		s.t.Fatal(err)
	}
	s.Ended(r, ans, uid)
}

func (s story) run(uid string) {
	s.call(uid, &runtimeapi.RunPodSandboxRequest{}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s-" + uid})
}

// load calls Load with pods whose sandboxes are ready.
func (s story) load(all ...Container) {
	var pods []Pod
	for _, c := range all {
		pods = append(pods, Pod{Pod: c.Pod, Ready: true})
	}
	s.Load(pods, all)
}

func creation(name string) *runtimeapi.CreateContainerRequest {
	return &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: name}}}
}

func (s story) create(uid, name string) {
	s.call(uid, creation(name), &runtimeapi.CreateContainerResponse{ContainerId: uid + "/" + name})
}

func (s story) exit(uid, name string, code int32) {
	s.call(uid, &runtimeapi.ContainerStatusRequest{ContainerId: uid + "/" + name}, &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: uid + "/" + name, Metadata: &runtimeapi.ContainerMetadata{Name: name}, CreatedAt: 1, Image: nginx, ImageRef: "r",
		State: runtimeapi.ContainerState_CONTAINER_EXITED, ExitCode: code,
	}})
}

func (s story) stop(uid string) {
	s.call(uid, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s-" + uid}, &runtimeapi.StopPodSandboxResponse{})
}

func pull(image string) *runtimeapi.PullImageRequest {
	return &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}}
}

func (s story) pull(uid, image string) {
	s.call(uid, pull(image), &runtimeapi.PullImageResponse{ImageRef: "sha256:abc"})
}

func pod(uid string) probes.Pod { return probes.Pod{UID: uid} }

// specs are the specs of the pods in the stories. That of "x" is not known.
var specs = map[string][]Wanted{
	"a": {{Container: "main", Image: "nginx"}},
	"b": {{Container: "main", Image: "nginx:latest"}, {Container: "log", Image: "fluentd:1"}},
	"i": {{Container: "setup", Image: "busybox", Init: true}, {Container: "proxy", Image: "envoy:1", Init: true, Sidecar: true},
		{Container: "fetch", Image: "curl:8", Init: true}, {Container: "main", Image: "nginx"}},
	"v": {{Container: "main", Image: "app:1"}, {Image: "data:2"}},
}

func TestImageAsker(t *testing.T) {
	for _, tt := range []struct {
		name  string
		play  func(s story)
		asked string
		want  string // "" is nobody
	}{
		{"nobody is there", func(s story) {}, "nginx", ""},
		{"one pod has its sandbox", func(s story) { s.run("a") }, "nginx:latest", "a"},
		{"its image has no tag, as the spec has it", func(s story) { s.run("b") }, "nginx", "b"},
		{"a registry's port is no tag", func(s story) { s.run("a") }, "host:5000/nginx", ""},
		{"an image of nobody", func(s story) { s.run("a") }, "redis:7", ""},
		{"two may ask", func(s story) { s.run("a"); s.run("b") }, "nginx:latest", ""},
		{"two are there, one wants it", func(s story) { s.run("a"); s.run("b") }, "fluentd:1", "b"},
		{"one has it already", func(s story) { s.run("a"); s.run("b"); s.create("b", "main") }, "nginx:latest", "a"},
		{"all have it", func(s story) { s.run("a"); s.create("a", "main") }, "nginx:latest", ""},
		{"the sandbox could not be made", func(s story) {
			r := decoded(s.t, &runtimeapi.RunPodSandboxRequest{})
			s.Ended(r, methodOf(s.t, r).Failed(r, codes.Unknown, "no network"), "a")
		}, "nginx:latest", ""},
		{"a new sandbox makes all anew", func(s story) { s.run("a"); s.create("a", "main"); s.run("a") }, "nginx:latest", "a"},
		{"a container died", func(s story) { s.run("a"); s.create("a", "main"); s.exit("a", "main", 1) }, "nginx:latest", "a"},
		{"it was seen dead again after it was made anew", func(s story) {
			s.run("a")
			s.create("a", "main")
			s.exit("a", "main", 1)
			s.call("a", creation("main"), &runtimeapi.CreateContainerResponse{ContainerId: "second"})
			s.exit("a", "main", 1)
		}, "nginx:latest", ""},
		{"the pod is over", func(s story) { s.run("a"); s.stop("a") }, "nginx:latest", ""},
		{"the other pod is over", func(s story) { s.run("a"); s.run("b"); s.stop("b") }, "nginx:latest", "a"},
		{"a container was removed", func(s story) {
			s.run("a")
			s.create("a", "main")
			s.call("a", &runtimeapi.RemoveContainerRequest{ContainerId: "a/main"}, &runtimeapi.RemoveContainerResponse{})
		}, "nginx:latest", "a"},

		{"the first init container", func(s story) { s.run("i") }, "busybox", "i"},
		{"what comes after an init container", func(s story) { s.run("i") }, "nginx", ""},
		{"not before it has ended", func(s story) { s.run("i"); s.create("i", "setup") }, "busybox", ""},
		{"it failed", func(s story) { s.run("i"); s.create("i", "setup"); s.exit("i", "setup", 1) }, "busybox", "i"},
		{"it ended well", func(s story) { s.run("i"); s.create("i", "setup"); s.exit("i", "setup", 0) }, "busybox", ""},
		{"the sidecar is next", func(s story) { s.run("i"); s.create("i", "setup"); s.exit("i", "setup", 0) }, "envoy:1", "i"},
		{"behind a sidecar that runs", func(s story) {
			s.run("i")
			s.create("i", "setup")
			s.exit("i", "setup", 0)
			s.create("i", "proxy")
		}, "curl:8", "i"},
		{"init containers are over once another one runs", func(s story) { s.run("i"); s.create("i", "main") }, "busybox", ""},
		{"but not a sidecar that is away", func(s story) { s.run("i"); s.create("i", "main") }, "envoy:1", "i"},

		{"the image of a volume", func(s story) { s.run("v") }, "data:2", "v"},
		{"not once all containers run", func(s story) { s.run("v"); s.create("v", "main") }, "data:2", ""},

		{"a pod of which nothing is known", func(s story) { s.run("x") }, "redis:7", "x"},
		{"beside one that wants it", func(s story) { s.run("x"); s.run("a") }, "nginx:latest", ""},

		{"a worker that waits for a call asks nothing", func(s story) {
			s.run("a")
			s.run("b")
			s.Began(decoded(s.t, creation("main")), "b")
		}, "nginx:latest", "a"},
		{"nor one that waits for a pull", func(s story) {
			s.run("a")
			s.Began(decoded(s.t, pull("nginx:latest")), "a")
		}, "nginx:latest", ""},
		{"the puller asks first after a pull", func(s story) { s.run("a"); s.pull("a", "nginx:latest") }, "nginx:latest", ""},
		{"and the worker after it", func(s story) {
			s.run("a")
			s.pull("a", "nginx:latest")
			s.Asked("nginx:latest")
		}, "nginx:latest", "a"},
		{"a pull in parallel is the pod's own", func(s story) {
			s.Parallel = true
			s.run("a")
			s.pull("a", "nginx:latest")
		}, "nginx:latest", "a"},

		{"a pod that was there before", func(s story) {
			s.load(Container{ID: "b/main", Name: "main", Pod: pod("b")}, Container{ID: "b/log", Name: "log", Pod: pod("b"), Exited: true})
		}, "fluentd:1", "b"},
		{"whose other container runs", func(s story) {
			s.load(Container{ID: "b/main", Name: "main", Pod: pod("b")}, Container{ID: "b/log", Name: "log", Pod: pod("b"), Exited: true})
		}, "nginx:latest", ""},
		{"that has no container yet", func(s story) { s.Load([]Pod{{Pod: pod("b"), Ready: true}}, nil) }, "fluentd:1", "b"},
		{"beside another that waits for the same", func(s story) {
			s.Load([]Pod{{Pod: pod("b"), Ready: true}}, nil)
			s.run("a")
		}, "nginx:latest", ""},
		{"whose sandbox has stopped", func(s story) {
			s.Load([]Pod{{Pod: pod("b")}}, []Container{{ID: "b/log", Name: "log", Pod: pod("b"), Exited: true}})
			s.run("a")
		}, "nginx:latest", "a"},
		{"known by its calls already", func(s story) {
			s.run("b")
			s.create("b", "main")
			s.Load([]Pod{{Pod: pod("b"), Ready: true}}, nil)
		}, "nginx:latest", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := story{t, NewImageAsker(func(uid string) []Wanted { return specs[uid] })}
			tt.play(s)
			got, ok := s.Asked(tt.asked)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("Asked(%q) = %q, %v; want %q", tt.asked, got, ok, tt.want)
			}
		})
	}
}
