package relay

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// measuring is a holder that gets the times of calls.
type measuring struct {
	*holder
	times chan Times
}

func (m *measuring) measure(t Times) { m.times <- t }

// TestTimes: the times of each call come once, whichever side ends it. For a call that was answered they are those
// of its way, and a gate counts as added.
func TestTimes(t *testing.T) {
	const version, stop, run, events = cri.RuntimeService_Version_FullMethodName, cri.RuntimeService_StopPodSandbox_FullMethodName,
		cri.RuntimeService_RunPodSandbox_FullMethodName, cri.RuntimeService_GetContainerEvents_FullMethodName
	f, m := newFakeRuntime(t), &measuring{newHolder("web"), make(chan Times, 100)}
	m.wants = func(method string) bool { return method == version || method == run }
	conn := dial(t, newRelayed(t, f.listening, m).listening)
	c := cri.NewRuntimeServiceClient(conn)
	for name, x := range map[string]struct {
		do     func(context.Context) error
		method string
		code   codes.Code
		passes bool // to the runtime, which answers
	}{
		"watched": {func(ctx context.Context) error {
			_, err := c.Version(ctx, &cri.VersionRequest{Version: "a"})
			return err
		}, version, codes.OK, true},
		"not watched, fails": {func(ctx context.Context) error {
			_, err := c.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: "a"})
			return err
		}, stop, codes.FailedPrecondition, true},
		"stream": {func(ctx context.Context) error {
			s, err := c.GetContainerEvents(ctx, &cri.GetEventsRequest{})
			for err == nil {
				_, err = s.Recv()
			}
			return err
		}, events, codes.OutOfRange, true},
		"held": {func(ctx context.Context) error {
			go func() { <-m.held; m.verb <- nil }()
			_, err := c.Version(ctx, &cri.VersionRequest{Version: "web"})
			return err
		}, version, codes.OK, true},
		"refused": {func(ctx context.Context) error {
			go func() { <-m.held; m.verb <- status.Error(codes.Aborted, "no") }()
			_, err := c.Version(ctx, &cri.VersionRequest{Version: "web"})
			return err
		}, version, codes.Aborted, false},
		"given up": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			go func() { <-channel(f, f.begun, "gives up"); cancel() }()
			_, err := c.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{RuntimeHandler: "gives up"}, grpc.WaitForReady(true))
			return err
		}, run, codes.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := x.do(t.Context()); status.Code(err) != x.code {
				t.Fatalf("it ended with %v", err)
			}
			got := await(t, m.times, "the times of the call")
			if got.Method != x.method || got.Code != x.code || got.Answered != x.passes {
				t.Errorf("measured: %+v", got)
			}
			if (got.Direct > 0) != x.passes || (got.Added > 0) != x.passes {
				t.Errorf("it took %v, of which podstep added %v", got.Direct, got.Added)
			}
		})
	}
	if len(m.times) > 0 {
		t.Errorf("measured once more: %+v", <-m.times)
	}
}
