package simcri

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// latencies are how long calls take on a quiet machine with containerd and runc. Calls that are not here take quick.
// How long PullImage takes follows from its bytes.
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

// takeTime makes a call last as long as the scenario states, or as a real runtime takes.
func (s *Server) takeTime(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := pass(ctx, s.scenario.Load().latency(path.Base(info.FullMethod))); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// pass waits for a time. If the context ends first, it returns an error with the code for that.
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
