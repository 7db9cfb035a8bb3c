package cri

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

func method(t testing.TB, rpc string) *Method {
	t.Helper()
	m := OfStep(stepPrefix + rpc)
	if m == nil {
		t.Fatalf("no method %s", rpc)
	}
	return m
}

// requests are one of each method.
func requests() map[string]proto.Message {
	return map[string]proto.Message{
		"RunPodSandbox":             &runtimeapi.RunPodSandboxRequest{Config: sandbox1, RuntimeHandler: "runc"},
		"PodSandboxStatus":          &runtimeapi.PodSandboxStatusRequest{PodSandboxId: "s1", Verbose: true},
		"CreateContainer":           &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", Config: container1, SandboxConfig: sandbox1},
		"StartContainer":            &runtimeapi.StartContainerRequest{ContainerId: "c1"},
		"ExecSync":                  &runtimeapi.ExecSyncRequest{ContainerId: "c1", Cmd: []string{"true"}, Timeout: 1},
		"ContainerStatus":           &runtimeapi.ContainerStatusRequest{ContainerId: "c1"},
		"UpdateContainerResources":  &runtimeapi.UpdateContainerResourcesRequest{ContainerId: "c1", Linux: resources1.Linux},
		"UpdatePodSandboxResources": &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: "s1"},
		"ImageStatus":               &runtimeapi.ImageStatusRequest{Image: nginx},
		"PullImage":                 &runtimeapi.PullImageRequest{Image: nginx, Auth: &runtimeapi.AuthConfig{Password: "p"}, SandboxConfig: sandbox1},
		"StopContainer":             &runtimeapi.StopContainerRequest{ContainerId: "c1", Timeout: 30},
		"StopPodSandbox":            &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s1"},
		"RemoveContainer":           &runtimeapi.RemoveContainerRequest{ContainerId: "c1"},
		"RemovePodSandbox":          &runtimeapi.RemovePodSandboxRequest{PodSandboxId: "s1"},
		"RemoveImage":               &runtimeapi.RemoveImageRequest{Image: nginx},
		"RuntimeConfig":             &runtimeapi.RuntimeConfigRequest{},
	}
}

var web = probes.Pod{Namespace: "default", Name: "web", UID: "u1"}

func TestRef(t *testing.T) {
	want := map[string]Ref{
		"RunPodSandbox": {Pod: web}, "PodSandboxStatus": {ID: "s1"}, "CreateContainer": {Pod: web, ID: "s1"},
		"StartContainer": {ID: "c1"}, "ExecSync": {ID: "c1"}, "ContainerStatus": {ID: "c1"},
		"UpdateContainerResources": {ID: "c1"}, "UpdatePodSandboxResources": {ID: "s1"},
		"ImageStatus": {Image: "nginx:1"}, "PullImage": {Pod: web, Image: "nginx:1"},
		"StopContainer": {ID: "c1"}, "StopPodSandbox": {ID: "s1"}, "RemoveContainer": {ID: "c1"}, "RemovePodSandbox": {ID: "s1"},
		"RemoveImage": {Image: "nginx:1"}, "RuntimeConfig": {},
	}
	for rpc, q := range requests() {
		m, b := method(t, rpc), marshal(t, q)
		ref, err := m.Ref(b)
		if err != nil || ref != want[rpc] {
			t.Errorf("%s: Ref = %+v, %v; want %+v", rpc, ref, err, want[rpc])
		}
		r, err := m.Request(b)
		if err != nil || r.Ref != want[rpc] {
			t.Errorf("%s: Request has Ref %+v, %v; want %+v", rpc, r.Ref, err, want[rpc])
		}
		if len(b) > 0 {
			if ref, err := m.Ref(b[:len(b)-1]); err == nil && rpc != "ExecSync" {
				t.Errorf("%s: a request that is cut short has Ref %+v", rpc, ref)
			}
		}
	}
}

// TestRefTwice: what is there in two parts is merged, as protobuf has it.
func TestRefTwice(t *testing.T) {
	m := method(t, "RunPodSandbox")
	part := func(md *runtimeapi.PodSandboxMetadata) []byte {
		return marshal(t, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{Metadata: md}})
	}
	b := append(part(&runtimeapi.PodSandboxMetadata{Name: "old", Uid: "u1"}), part(&runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default"})...)
	if ref, err := m.Ref(b); err != nil || ref.Pod != web {
		t.Errorf("Ref = %+v, %v; want %+v", ref, err, web)
	}
}

func FuzzRef(f *testing.F) {
	for i, m := range Methods() {
		f.Add(uint8(i), marshal(f, requests()[m.rpc]))
	}
	f.Add(uint8(2), []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		m := &methods[int(n)%len(methods)]
		ref, err := m.Ref(b)
		r, full := m.Request(b)
		if full != nil {
			return // what is no request has no Ref to agree with
		}
		if err != nil || ref != r.Ref {
			t.Errorf("%s: Ref = %+v, %v; decoded in full it is %+v", m.rpc, ref, err, r.Ref)
		}
	})
}

// FuzzAnswer: whatever the bytes, a call has the values that its step names.
func FuzzAnswer(f *testing.F) {
	for i, m := range Methods() {
		f.Add(uint8(i), marshal(f, requests()[m.rpc]), []byte{})
		f.Add(uint8(i), []byte{}, []byte{0x0a, 0x02, 'i', 'd'})
	}
	c := probes.MustLoad()
	f.Fuzz(func(t *testing.T, n uint8, q, a []byte) {
		m := &methods[int(n)%len(methods)]
		step := c.Step(m.Step)
		r, err := m.Request(q)
		if err != nil {
			return
		}
		if len(r.Values) != len(step.Fields) {
			t.Errorf("%s: %d values at enter", m.rpc, len(r.Values))
		}
		ans, err := m.Answer(r, a)
		if err != nil {
			ans = m.Failed(r, codes.Internal, err.Error())
		}
		if len(m.Exit(ans)) != 1+len(step.Results) {
			t.Errorf("%s: %d values at exit", m.rpc, len(ans.Values))
		}
		if ans.Made != "" && ans.Err != nil {
			t.Errorf("%s failed with %v and made %s", m.rpc, ans.Err, ans.Made)
		}
		x := NewIdentities()
		x.Learn(r, ans)
		if p, ok := x.Pod(ans.Made); ok && r.Sandbox.GetMetadata().GetUid() != p.UID {
			t.Errorf("%s made %s, which is said to be of %+v", m.rpc, ans.Made, p)
		}
	})
}

// TestAnswer: what a call made, and what it took away.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		rpc        string
		answer     proto.Message
		made, gone string
	}{
		{"RunPodSandbox", &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s9"}, "s9", ""},
		{"CreateContainer", &runtimeapi.CreateContainerResponse{ContainerId: "c9"}, "c9", ""},
		{"StopContainer", &runtimeapi.StopContainerResponse{}, "", ""},
		{"StopPodSandbox", &runtimeapi.StopPodSandboxResponse{}, "", ""},
		{"RemoveContainer", &runtimeapi.RemoveContainerResponse{}, "", "c1"},
		{"RemovePodSandbox", &runtimeapi.RemovePodSandboxResponse{}, "", "s1"},
	} {
		m := method(t, tt.rpc)
		r := decoded(t, requests()[tt.rpc])
		a, err := m.Answer(r, marshal(t, tt.answer))
		if err != nil || a.Err != nil || a.Made != tt.made || a.Gone != tt.gone {
			t.Errorf("%s: %+v, %v; want %q made and %q gone", tt.rpc, a, err, tt.made, tt.gone)
		}
		if a := m.Failed(r, codes.Unavailable, "gone away"); a.Made != "" || a.Gone != "" {
			t.Errorf("%s failed and says %+v", tt.rpc, a)
		}
		if a := m.Failed(r, codes.NotFound, "no such id"); a.Gone != tt.gone {
			t.Errorf("%s of what is not there: %q gone, want %q", tt.rpc, a.Gone, tt.gone)
		}
		if _, err := m.Answer(r, []byte{0xff}); err == nil {
			t.Errorf("%s: an answer that cannot be read is none", tt.rpc)
		}
		if _, err := m.Answer(Request{}, nil); err == nil {
			t.Errorf("%s: an answer was read without its request", tt.rpc)
		}
	}
}

// TestFailedOK: a call that ended well and without a message did not end well.
func TestFailedOK(t *testing.T) {
	for _, m := range Methods() {
		if a := m.Failed(Request{}, codes.OK, ""); a.Err == nil {
			t.Errorf("%s: no error", m.rpc)
		}
	}
}

// decoded is a request as it comes from the wire.
func decoded(t testing.TB, q proto.Message) Request {
	t.Helper()
	for i := range methods {
		if m := &methods[i]; m.call.request().ProtoReflect().Descriptor() == q.ProtoReflect().Descriptor() {
			r, err := m.Request(marshal(t, q))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no method has a request %T", q)
	return Request{}
}

// large is a CreateContainer request of a pod with much in it.
func large(b *testing.B) []byte {
	c := proto.Clone(container1).(*runtimeapi.ContainerConfig)
	for range 60 {
		c.Envs = append(c.Envs, &runtimeapi.KeyValue{Key: "SOME_SERVICE_PORT_8080_TCP_ADDR", Value: bytes.Repeat([]byte("x"), 60)})
		c.Mounts = append(c.Mounts, &runtimeapi.Mount{ContainerPath: "/etc/config/some/where", HostPath: "/var/lib/kubelet/pods/u1/volumes/x"})
	}
	return marshal(b, &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", Config: c, SandboxConfig: sandbox1})
}

func BenchmarkRef(b *testing.B) {
	m, q := method(b, "CreateContainer"), large(b)
	b.SetBytes(int64(len(q)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Ref(q); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	m, q := method(b, "CreateContainer"), large(b)
	b.SetBytes(int64(len(q)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Request(q); err != nil {
			b.Fatal(err)
		}
	}
}
