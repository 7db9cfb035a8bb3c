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

// requests has one request of each method.
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
		r, err := m.Request(b)
		if err != nil || r.Ref != want[rpc] {
			t.Errorf("%s: Request has Ref %+v, %v; want %+v", rpc, r.Ref, err, want[rpc])
		}
		if len(b) > 0 {
			if r, err := m.Request(b[:len(b)-1]); err == nil && rpc != "ExecSync" {
				t.Errorf("%s: a request that is cut short has Ref %+v", rpc, r.Ref)
			}
		}
	}
}

// TestRefTwice: a member that is there in two parts is merged, as protobuf does.
func TestRefTwice(t *testing.T) {
	m := method(t, "RunPodSandbox")
	part := func(md *runtimeapi.PodSandboxMetadata) []byte {
		return marshal(t, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{Metadata: md}})
	}
	b := append(part(&runtimeapi.PodSandboxMetadata{Name: "old", Uid: "u1"}), part(&runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default"})...)
	if r, err := m.Request(b); err != nil || r.Ref.Pod != web {
		t.Errorf("Ref = %+v, %v; want %+v", r.Ref, err, web)
	}
}

// FuzzRequest: whatever the bytes, a request that can be read has the values that its step names.
func FuzzRequest(f *testing.F) {
	for i, m := range Methods() {
		f.Add(uint8(i), marshal(f, requests()[m.rpc]))
	}
	f.Add(uint8(2), []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	c := probes.MustLoad()
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		m := &methods().steps[int(n)%len(methods().steps)]
		r, err := m.Request(b)
		if err != nil {
			return
		}
		if want := len(c.Step(m.Step).Fields); len(r.Values) != want {
			t.Errorf("%s: %d values, want %d", m.rpc, len(r.Values), want)
		}
		if want := len(requestEnter(t, m)); len(m.Enter(r)) != want {
			t.Errorf("%s: %d values at its entry, want %d", m.rpc, len(m.Enter(r)), want)
		}
	})
}

// requestEnter returns the values at the entry of a call with a whole request.
func requestEnter(t *testing.T, m *Method) []any {
	t.Helper()
	return m.Enter(decoded(t, requests()[m.rpc]))
}

// FuzzAnswer: whatever the bytes, a call has the values that its step names.
func FuzzAnswer(f *testing.F) {
	for i, m := range Methods() {
		f.Add(uint8(i), marshal(f, requests()[m.rpc]), []byte{})
		f.Add(uint8(i), []byte{}, []byte{0x0a, 0x02, 'i', 'd'})
	}
	c := probes.MustLoad()
	f.Fuzz(func(t *testing.T, n uint8, q, a []byte) {
		m := &methods().steps[int(n)%len(methods().steps)]
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

// TestAnswer: an answer shows what a call made, and what it removed.
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

// TestFailedOK: a call that ended with OK, but without a message, has failed.
func TestFailedOK(t *testing.T) {
	for _, m := range Methods() {
		if a := m.Failed(Request{}, codes.OK, ""); a.Err == nil {
			t.Errorf("%s: no error", m.rpc)
		}
	}
}

// decoded returns a request as it comes from the wire.
func decoded(t testing.TB, q proto.Message) Request {
	t.Helper()
	r, err := asking(t, q).Request(marshal(t, q))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asking returns the method that has such a request.
func asking(t testing.TB, q proto.Message) *Method {
	t.Helper()
	for i := range methods().steps {
		if m := &methods().steps[i]; m.request == q.ProtoReflect().Type() {
			return m
		}
	}
	t.Fatalf("no method has a request %T", q)
	return nil
}

// large returns a CreateContainer request of a pod with much in it.
func large(b *testing.B) []byte {
	c := proto.Clone(container1).(*runtimeapi.ContainerConfig)
	for range 60 {
		c.Envs = append(c.Envs, &runtimeapi.KeyValue{Key: "SOME_SERVICE_PORT_8080_TCP_ADDR", Value: bytes.Repeat([]byte("x"), 60)})
		c.Mounts = append(c.Mounts, &runtimeapi.Mount{ContainerPath: "/etc/config/some/where", HostPath: "/var/lib/kubelet/pods/u1/volumes/x"})
	}
	return marshal(b, &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", Config: c, SandboxConfig: sandbox1})
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

// BenchmarkCall reads a small call, from its request to its answer.
func BenchmarkCall(b *testing.B) {
	for rpc, answer := range map[string]proto.Message{
		"CreateContainer": &runtimeapi.CreateContainerResponse{ContainerId: "c9"},
		"ExecSync":        &runtimeapi.ExecSyncResponse{Stdout: []byte("ok")},
		"ContainerStatus": containerStatuses()[1],
	} {
		b.Run(rpc, func(b *testing.B) {
			m, q, a := method(b, rpc), marshal(b, requests()[rpc]), marshal(b, answer)
			b.ReportAllocs()
			for b.Loop() {
				r, err := m.Request(q)
				if err != nil {
					b.Fatal(err)
				}
				ans, err := m.Answer(r, a)
				if err != nil || len(m.Enter(r)) == 0 || len(m.Exit(ans)) == 0 {
					b.Fatal(ans, err)
				}
			}
		})
	}
}
