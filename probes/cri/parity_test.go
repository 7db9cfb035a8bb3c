package cri

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	client "k8s.io/cri-client/pkg"
	"k8s.io/klog/v2"

	"github.com/podstep/podstep/probes"
)

// raw is a message as it is on the wire.
type raw struct{ b []byte }

// rawCodec leaves messages as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return v.(*raw).b, nil }
func (rawCodec) Unmarshal(b []byte, v any) error {
	v.(*raw).b = append([]byte(nil), b...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

// wire is a runtime that gives the test's answers, and keeps the last messages that went over the wire.
type wire struct {
	mu      sync.Mutex
	method  string
	request []byte
	answer  []byte
	err     error
}

func (w *wire) handle(_ any, s grpc.ServerStream) error {
	var q raw
	if err := s.RecvMsg(&q); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.method, _ = grpc.MethodFromServerStream(s)
	w.request = q.b
	if w.err != nil {
		return w.err
	}
	return s.SendMsg(&raw{w.answer})
}

func (w *wire) answerWith(t *testing.T, answer proto.Message, err error) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer, w.err = marshal(t, answer), err
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	if m == nil {
		return nil
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// quiet is a context in which the kubelet's client does not log failures.
var quiet = klog.NewContext(context.Background(), klog.New(nil))

// kubelet returns the kubelet's own CRI client, with such a runtime.
func kubelet(t *testing.T) (*wire, internalapi.RuntimeService, internalapi.ImageManagerService) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	s := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(w.handle))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	rt, err := client.NewRemoteRuntimeService(quiet, "unix://"+path, time.Minute, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	im, err := client.NewRemoteImageService(quiet, "unix://"+path, time.Minute, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = rt.Close(quiet), im.Close(quiet) })
	return w, rt, im
}

// scene is a call of the kubelet's client: its arguments, by their names there, and answers, good and bad.
type scene struct {
	args    map[string]any
	call    func() (any, error)
	answers []proto.Message
}

var (
	sandbox1 = &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: "web", Uid: "u1", Namespace: "default", Attempt: 2},
		Hostname:     "web",
		LogDirectory: "/var/log/pods/default_web_u1",
		Labels:       map[string]string{"app": "web", labelUID: "u1", labelName: "web", labelNamespace: "default"},
		Annotations:  map[string]string{probes.AnnotationSource: "api"},
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: "/kubepods/pod-u1"},
	}
	container1 = &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "nginx", Attempt: 3},
		Image:    &runtimeapi.ImageSpec{Image: "sha256:abc", UserSpecifiedImage: "nginx:1"},
		Command:  []string{"nginx", "-g", "daemon off;"},
		Envs:     []*runtimeapi.KeyValue{{Key: "A", Value: []byte("b")}},
		Linux:    &runtimeapi.LinuxContainerConfig{},
	}
	resources1 = &runtimeapi.ContainerResources{Linux: &runtimeapi.LinuxContainerResources{CpuShares: 512}}
	nginx      = &runtimeapi.ImageSpec{Image: "nginx:1"}
)

func scenes(rt internalapi.RuntimeService, im internalapi.ImageManagerService) map[string][]scene {
	ctx := quiet
	none := func(err error) (any, error) { return nil, err }
	id := func(name string, call func(id string) error) scene {
		return scene{args: map[string]any{name: "id-1"}, call: func() (any, error) { return none(call("id-1")) }}
	}
	run := func(c *runtimeapi.PodSandboxConfig, handler string) scene {
		return scene{
			args: map[string]any{"config": c, "runtimeHandler": handler},
			call: func() (any, error) { return rt.RunPodSandbox(ctx, c, handler) },
			answers: []proto.Message{
				&runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, &runtimeapi.RunPodSandboxResponse{},
			},
		}
	}
	create := func(c *runtimeapi.ContainerConfig, s *runtimeapi.PodSandboxConfig) scene {
		return scene{
			args: map[string]any{"podSandBoxID": "s1", "config": c, "sandboxConfig": s},
			call: func() (any, error) { return rt.CreateContainer(ctx, "s1", c, s) },
			answers: []proto.Message{
				&runtimeapi.CreateContainerResponse{ContainerId: "c1"}, &runtimeapi.CreateContainerResponse{},
			},
		}
	}
	exec := func(timeout time.Duration, cmd ...string) scene {
		return scene{
			args: map[string]any{"containerID": "c1", "cmd": cmd, "timeout": timeout},
			call: func() (any, error) { _, _, err := rt.ExecSync(ctx, "c1", cmd, timeout); return nil, err },
			answers: []proto.Message{
				&runtimeapi.ExecSyncResponse{Stdout: []byte("ok")},
				&runtimeapi.ExecSyncResponse{ExitCode: 7, Stdout: []byte("out"), Stderr: []byte("no such file\n")},
			},
		}
	}
	update := func(r *runtimeapi.ContainerResources) scene {
		return scene{
			args: map[string]any{"containerID": "c1", "resources": r},
			call: func() (any, error) { return none(rt.UpdateContainerResources(ctx, "c1", r)) },
		}
	}
	resize := &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: "s1", Overhead: &runtimeapi.LinuxContainerResources{CpuShares: 2}}
	return map[string][]scene{
		"cri.RunPodSandbox": {run(sandbox1, "runc"), run(&runtimeapi.PodSandboxConfig{}, "")},
		"cri.PodSandboxStatus": {{
			args:    map[string]any{"podSandBoxID": "s1"},
			call:    func() (any, error) { return rt.PodSandboxStatus(ctx, "s1", false) },
			answers: sandboxStatuses(),
		}},
		"cri.CreateContainer": {create(container1, sandbox1), create(&runtimeapi.ContainerConfig{}, nil)},
		"cri.StartContainer":  {id("containerID", func(id string) error { return rt.StartContainer(ctx, id) })},
		"cri.ExecSync":        {exec(5*time.Second, "cat", "/tmp/ready"), exec(0, "sh", "-c", "exit 7")},
		"cri.ContainerStatus": {{
			args:    map[string]any{"containerID": "c1"},
			call:    func() (any, error) { return rt.ContainerStatus(ctx, "c1", false) },
			answers: containerStatuses(),
		}},
		"cri.UpdateContainerResources": {update(resources1), update(&runtimeapi.ContainerResources{})},
		"cri.UpdatePodSandboxResources": {{
			args: map[string]any{"req": resize},
			call: func() (any, error) { return rt.UpdatePodSandboxResources(ctx, resize) },
		}},
		"cri.ImageStatus": {{
			args: map[string]any{"image": nginx},
			call: func() (any, error) { return im.ImageStatus(ctx, nginx, false) },
			answers: []proto.Message{
				&runtimeapi.ImageStatusResponse{},
				&runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:abc", Size: 9}},
				&runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:abc"}},
				&runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Size: 9}},
			},
		}},
		"cri.PullImage": {{
			args: map[string]any{"image": nginx, "podSandboxConfig": sandbox1},
			call: func() (any, error) { return im.PullImage(ctx, nginx, &runtimeapi.AuthConfig{Password: "p"}, sandbox1) },
			answers: []proto.Message{
				&runtimeapi.PullImageResponse{ImageRef: "sha256:abc"}, &runtimeapi.PullImageResponse{},
			},
		}},
		"cri.StopContainer": {{
			args: map[string]any{"containerID": "c1", "timeout": int64(30)},
			call: func() (any, error) { return none(rt.StopContainer(ctx, "c1", 30)) },
		}},
		"cri.StopPodSandbox":   {id("podSandBoxID", func(id string) error { return rt.StopPodSandbox(ctx, id) })},
		"cri.RemoveContainer":  {id("containerID", func(id string) error { return rt.RemoveContainer(ctx, id) })},
		"cri.RemovePodSandbox": {id("podSandBoxID", func(id string) error { return rt.RemovePodSandbox(ctx, id) })},
		"cri.RemoveImage": {{
			args: map[string]any{"image": nginx},
			call: func() (any, error) { return none(im.RemoveImage(ctx, nginx)) },
		}},
		"cri.RuntimeConfig": {{
			call: func() (any, error) { return rt.RuntimeConfig(ctx) },
			answers: []proto.Message{
				&runtimeapi.RuntimeConfigResponse{},
				&runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}},
			},
		}},
	}
}

func sandboxStatuses() []proto.Message {
	full := &runtimeapi.PodSandboxStatus{
		Id: "s1", Metadata: sandbox1.Metadata, State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY, CreatedAt: 5,
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.7"},
	}
	return append([]proto.Message{&runtimeapi.PodSandboxStatusResponse{}, &runtimeapi.PodSandboxStatusResponse{Status: full}},
		without(full, func(s *runtimeapi.PodSandboxStatus) proto.Message {
			return &runtimeapi.PodSandboxStatusResponse{Status: s}
		},
			func(s *runtimeapi.PodSandboxStatus) { s.Id = "" },
			func(s *runtimeapi.PodSandboxStatus) { s.Metadata = nil },
			func(s *runtimeapi.PodSandboxStatus) { s.Metadata.Name = "" },
			func(s *runtimeapi.PodSandboxStatus) { s.Metadata.Uid = "" },
			func(s *runtimeapi.PodSandboxStatus) { s.CreatedAt = 0 },
			func(s *runtimeapi.PodSandboxStatus) { s.Network = nil },
		)...)
}

func containerStatuses() []proto.Message {
	full := &runtimeapi.ContainerStatus{
		Id: "c1", Metadata: container1.Metadata, State: runtimeapi.ContainerState_CONTAINER_EXITED, CreatedAt: 5,
		ExitCode: 137, Reason: "OOMKilled", Image: nginx, ImageRef: "sha256:abc",
	}
	return append([]proto.Message{&runtimeapi.ContainerStatusResponse{}, &runtimeapi.ContainerStatusResponse{Status: full}},
		without(full, func(s *runtimeapi.ContainerStatus) proto.Message {
			return &runtimeapi.ContainerStatusResponse{Status: s}
		},
			func(s *runtimeapi.ContainerStatus) { s.Id = "" },
			func(s *runtimeapi.ContainerStatus) { s.Metadata = nil },
			func(s *runtimeapi.ContainerStatus) { s.Metadata.Name = "" },
			func(s *runtimeapi.ContainerStatus) { s.CreatedAt = 0 },
			func(s *runtimeapi.ContainerStatus) { s.Image = nil },
			func(s *runtimeapi.ContainerStatus) { s.Image.Image = "" },
			func(s *runtimeapi.ContainerStatus) { s.ImageRef = "" },
		)...)
}

// without returns answers that lack one thing each.
func without[S proto.Message](full S, wrap func(S) proto.Message, cuts ...func(S)) (out []proto.Message) {
	for _, cut := range cuts {
		s := proto.Clone(full).(S)
		cut(s)
		out = append(out, wrap(s))
	}
	return out
}

// TestParity: the values read from the bytes on the wire equal those that a woven kubelet shows of the same call.
// These come from the catalogue's expressions, over the arguments, results and error of the kubelet's own client.
func TestParity(t *testing.T) {
	w, rt, im := kubelet(t)
	all := scenes(rt, im)
	failures := []error{
		status.Error(codes.NotFound, "no such container"),
		status.Error(codes.Unknown, `failed to pull "nginx"`),
		status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		status.Error(codes.Unimplemented, "unknown method"),
	}
	for _, m := range Methods() {
		if len(all[m.Step]) == 0 {
			t.Errorf("%s: the test does not call it", m.Step)
		}
		for i, sc := range all[m.Step] {
			answers := sc.answers
			if answers == nil {
				answers = []proto.Message{nil} // an answer of no bytes
			}
			for j, a := range answers {
				t.Run(fmt.Sprintf("%s/%d/answer %d", m.rpc, i, j), func(t *testing.T) { sc.play(t, w, m.Step, a, nil) })
			}
			for _, f := range failures {
				t.Run(fmt.Sprintf("%s/%d/%s", m.rpc, i, status.Code(f)), func(t *testing.T) { sc.play(t, w, m.Step, nil, f) })
			}
		}
	}
}

func (sc scene) play(t *testing.T, w *wire, name string, answer proto.Message, fail error) {
	w.answerWith(t, answer, fail)
	r0, err := sc.call()
	m := Lookup(w.method)
	if m == nil || m.Step != name {
		t.Fatalf("%s is on the wire as %s", name, w.method)
	}
	step := probes.MustLoad().Step(name)
	env := map[string]any{"podstepR0": r0, "podstepR1": err}
	for k, v := range sc.args {
		env[k] = v
	}

	r, derr := m.Request(w.request)
	if derr != nil {
		t.Fatal(derr)
	}
	var want []any
	if step.Pod.Expr != "" {
		want = append(want, eval(t, step.Pod.Expr, env))
	}
	sameValues(t, "enter", m.Enter(r), values(t, want, step.Fields, env))

	a := m.Failed(r, status.Code(fail), status.Convert(fail).Message())
	if fail == nil {
		if a, derr = m.Answer(r, w.answer); derr != nil {
			t.Fatal(derr)
		}
	}
	sameValues(t, "exit", m.Exit(a), values(t, []any{false}, step.Results, env))
	if got, want := errText(a.Err), errText(err); got != want {
		t.Errorf("error\n%s\nwant that of the kubelet's client:\n%s", got, want)
	}
}

func values(t *testing.T, out []any, fields []probes.Field, env map[string]any) []any {
	t.Helper()
	for _, f := range fields {
		out = append(out, eval(t, f.Expr, env))
	}
	return out
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// sameValues also compares the types, since the agent shows a value by its type.
func sameValues(t *testing.T, what string, got, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values %v, want %d %v", what, len(got), got, len(want), want)
	}
	for i := range want {
		if reflect.TypeOf(got[i]) != reflect.TypeOf(want[i]) || !sameValue(got[i], want[i]) {
			t.Errorf("%s: value %d is %T %v, want %T %v", what, i, got[i], got[i], want[i], want[i])
		}
	}
}

func sameValue(a, b any) bool {
	m, ok := a.(proto.Message)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	n, ok := b.(proto.Message)
	return ok && m.ProtoReflect().IsValid() == n.ProtoReflect().IsValid() && proto.Equal(m, n)
}

// TestCatalogue: the methods are the CRI steps of the catalogue, in its order,
// and have as many values as it names.
func TestCatalogue(t *testing.T) {
	i, all := 0, Methods()
	for _, s := range probes.MustLoad().Steps {
		if !strings.HasPrefix(s.Name, stepPrefix) || s.Name == Other {
			continue
		}
		if i >= len(all) || all[i].Step != s.Name {
			t.Fatalf("step %s is not method %d", s.Name, i)
		}
		m := &all[i]
		i++
		if Lookup(m.Name) == nil || OfStep(s.Name) == nil {
			t.Errorf("%s is not found", s.Name)
		}
		if !strings.HasSuffix(s.Symbol, ")."+strings.TrimPrefix(s.Name, stepPrefix)) || s.Pod.Exit || s.Quiet != "" {
			t.Errorf("%s is not a step that is seen by its call alone", s.Name)
		}
		r, err := m.Request(nil)
		if err != nil {
			t.Fatal(err)
		}
		pods := 0
		if s.Pod.Expr != "" {
			pods = 1
		}
		if n := len(m.Enter(r)); n != pods+len(s.Fields) {
			t.Errorf("%s: %d values at enter, the catalogue has %d", s.Name, n, pods+len(s.Fields))
		}
		if n := len(m.Exit(m.Failed(r, codes.Internal, ""))); n != 1+len(s.Results) {
			t.Errorf("%s: %d values at exit, the catalogue has %d", s.Name, n, 1+len(s.Results))
		}
	}
	if i != len(all) {
		t.Errorf("%d methods, %d CRI steps", len(all), i)
	}
}
