package gather

import (
	"context"
	"fmt"
	"path"

	"google.golang.org/grpc"
)

// looking are the calls to a runtime, and to a kubelet's pods API, that change nothing there.
var looking = map[string]bool{
	"Version": true, "Status": true, "ListPodSandbox": true, "PodSandboxStatus": true, "ListContainers": true, "ContainerStatus": true, "ImageStatus": true,
	"GetPod": true, "ListPods": true,
}

// onlyLooks returns what makes a connection refuse all other calls, before they are sent.
func onlyLooks() []grpc.DialOption {
	refused := func(method string) error {
		if looking[path.Base(method)] {
			return nil
		}
		return fmt.Errorf("podstep only looks here, and %s is not sent: it could change something", path.Base(method))
	}
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if err := refused(method); err != nil {
				return err
			}
			return call(ctx, method, req, reply, conn, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if err := refused(method); err != nil {
				return nil, err
			}
			return open(ctx, desc, conn, method, opts...)
		}),
	}
}
