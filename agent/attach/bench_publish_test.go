//go:build bench

package attach

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes/cri"
)

// BenchmarkPublish measures the publishing of a call, which the kubelet does not wait for.
func BenchmarkPublish(b *testing.B) {
	dir := b.TempDir()
	socket := filepath.Join(dir, "runtime.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go serveRuntime(l)
	w := hostedBy(b, socket, filepath.Join(dir, "agent.sock"))
	for _, c := range []struct {
		step     string
		request  proto.Message
		response proto.Message
	}{
		{"cri.ContainerStatus", &runtimeapi.ContainerStatusRequest{ContainerId: containerID(0)}, &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: containerID(0)}}},
		{"cri.CreateContainer", benchRequest, &runtimeapi.CreateContainerResponse{ContainerId: containerID(0)}},
	} {
		b.Run(c.step, func(b *testing.B) {
			question, err := proto.Marshal(c.request)
			if err != nil {
				b.Fatal(err)
			}
			answer, err := proto.Marshal(c.response)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				k := &call{method: cri.OfStep(c.step), began: time.Now(), message: question}
				w.begin(k)
				w.end(k, answer, status.New(codes.OK, ""), time.Now())
			}
		})
	}
}
