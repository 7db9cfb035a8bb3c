package simcri

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// latencies are what calls take on a quiet machine with containerd and runc.
// Calls that are not here take quick. PullImage takes what its bytes take.
var latencies = map[string]time.Duration{
	"RunPodSandbox":            80 * time.Millisecond,
	"StopPodSandbox":           40 * time.Millisecond,
	"RemovePodSandbox":         10 * time.Millisecond,
	"CreateContainer":          25 * time.Millisecond,
	"StartContainer":           40 * time.Millisecond,
	"StopContainer":            5 * time.Millisecond,
	"RemoveContainer":          10 * time.Millisecond,
	"UpdateContainerResources": 5 * time.Millisecond,
	"ExecSync":                 30 * time.Millisecond,
	"PullImage":                0,
	"RemoveImage":              20 * time.Millisecond,
}

const quick = 500 * time.Microsecond

// takeTime lets a call last as long as the scenario, or a real runtime, would.
func (s *Server) takeTime(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := pass(ctx, s.scenario.Load().latency(path.Base(info.FullMethod))); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// pass waits. The error has the code of the context's end.
func pass(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-t.C:
		return nil
	}
}
