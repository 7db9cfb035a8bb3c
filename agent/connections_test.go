package agent

import (
	"context"
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/server"
)

// serve serves the rig's agent, and returns a function that connects to it.
func (r *rig) serve() (connect func() (agentpb.AgentClient, *grpc.ClientConn)) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "s")
	l, err := server.Listen(path)
	if err != nil {
		r.t.Fatal(err)
	}
	srv := Serve(r.Agent, l, server.Access{})
	r.t.Cleanup(srv.Stop)
	return func() (agentpb.AgentClient, *grpc.ClientConn) {
		conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			}))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = conn.Close() })
		return agentpb.NewAgentClient(conn), conn
	}
}

// TestWhileConnected: when a client is gone, in whatever way, its holds and breakpoints that live with its connection
// end. Those that it asked for to stay, and those of others, go on.
func TestWhileConnected(t *testing.T) {
	r := newRig(t, Options{})
	connect := r.serve()
	tied, conn := connect()
	free, other := connect()
	p, q := newPod("default", "web"), newPod("default", "other")
	for c, spec := range map[agentpb.AgentClient]*agentpb.AddBreakpointRequest{
		tied: {Pods: sel(p), Step: "sync.pod", WhileConnected: true},
		free: {Pods: sel(q), Step: "sync.pod"},
	} {
		if _, err := c.AddBreakpoint(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.sync(p, func() error { return r.call("sync.genstatus", []any{p}, nil, nil) })
		_ = r.sync(p, nil)
	}()
	r.calls.Go(func() { _ = r.sync(q, nil) })
	r.held(p)
	r.held(q)
	h, err := tied.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p), WhileConnected: true})
	if err != nil || h.Step != "sync.genstatus" {
		t.Fatalf("stepped to %v, %v", h, err)
	}
	_ = conn.Close()
	_ = other.Close()
	<-done // past the breakpoint too
	for len(r.points.List()) > 1 {
		runtime.Gosched() // another goroutine removes it
	}
	if left := r.points.List(); len(left) != 1 || left[0].Spec.GetWhileConnected() {
		t.Errorf("breakpoints left: %v, want the one that was to stay", left)
	}
	if len(r.holds.Of(&r.pods.Object(q).State.holding)) != 1 {
		t.Error("a hold that was to stay is gone with its client")
	}
	for _, e := range r.events("web") {
		if e.Kind == agentpb.Kind_RELEASE && e.Step == uint32(r.c.Step("sync.genstatus").ID+1) && e.Fields[1].GetText() != agentpb.ReleaseClientGone {
			t.Errorf("released because %q", e.Fields[1].GetText())
		}
	}
	r.releaseAll("continue")
}
