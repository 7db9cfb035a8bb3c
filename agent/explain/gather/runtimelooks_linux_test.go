package gather

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	podsapi "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// runtimeMethods are all calls of the CRI and of a kubelet's pods API, with the names of their services.
func runtimeMethods() (out []string) {
	for _, s := range []grpc.ServiceDesc{runtimeapi.RuntimeService_ServiceDesc, runtimeapi.ImageService_ServiceDesc, podsapi.Pods_ServiceDesc} {
		for _, m := range s.Methods {
			out = append(out, "/"+s.ServiceName+"/"+m.MethodName)
		}
		for _, m := range s.Streams {
			out = append(out, "/"+s.ServiceName+"/"+m.StreamName)
		}
	}
	return out
}

// TestOnlyLooks makes each of these calls on such a connection: only those that list and show reach the runtime.
func TestOnlyLooks(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	var came atomic.Int32
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		came.Add(1)
		return nil
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), append(onlyLooks(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	methods := runtimeMethods()
	for name := range looking {
		if !slices.ContainsFunc(methods, func(m string) bool { return strings.HasSuffix(m, "/"+name) }) {
			t.Errorf("there is no call %s", name)
		}
	}
	for _, m := range methods {
		name := m[strings.LastIndexByte(m, '/')+1:]
		before := came.Load()
		err := reach(t.Context(), conn, m)
		if reached := came.Load() > before; reached != looking[name] || !reached && !strings.Contains(err.Error(), "podstep only looks here") {
			t.Errorf("%s: reached the runtime: %t, %v", name, reached, err)
		}
	}
	for _, m := range methods {
		name := m[strings.LastIndexByte(m, '/')+1:]
		if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, m); (err == nil) != looking[name] {
			t.Errorf("%s as a stream: %v", name, err)
		}
	}
	for name := range looking {
		if !strings.HasPrefix(name, "List") && !strings.HasPrefix(name, "Get") && !strings.HasSuffix(name, "Status") && name != "Version" {
			t.Errorf("does %s change nothing?", name)
		}
	}
}

// reach makes a call, and waits for its end.
func reach(ctx context.Context, conn *grpc.ClientConn, method string) error {
	return conn.Invoke(ctx, method, &runtimeapi.VersionRequest{}, &runtimeapi.VersionResponse{})
}
