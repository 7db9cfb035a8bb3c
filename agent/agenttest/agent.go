// Package agenttest pretends to be an agent, for tests of code that speaks to an agent.
package agenttest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/peer"
	"github.com/podstep/podstep/probes"
)

// Info describes an agent in a woven kubelet of v1.36.3. The agent sees all steps of the catalogue, and holds pods
// wherever the catalogue allows it. Each call returns a new message.
func Info() *agentpb.InfoResponse {
	info := &agentpb.InfoResponse{
		Version: "v0.1.0", KubeletVersion: "v1.36.3", Node: "node-1", Pid: 1, Goroutines: []string{"worker"}, Snapshots: true, Logs: true,
		Probes: []*agentpb.Probe{{
			Name: "woven", State: agentpb.ProbeState_PROBE_RUNNING, Knows: &agentpb.Knows{Turns: true, Nesting: true, Workers: true},
		}},
	}
	for _, s := range probes.MustLoad().Steps {
		hold := s.Hold
		info.Steps = append(info.Steps, &agentpb.Step{
			Name: s.Name, Stage: s.Stage, Tier: int32(s.Tier), HoldEnter: string(hold.Enter), HoldExit: string(hold.Exit),
			Abilities: []*agentpb.Ability{{
				Entry: true, Exit: true, Arguments: true, Results: true, Fail: true, HoldEnter: string(hold.Enter), HoldExit: string(hold.Exit),
			}},
		})
	}
	return info
}

// Serve serves an agent at the path of a unix socket until stop is called or the test ends.
func Serve(t testing.TB, a agentpb.AgentServer, path string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return ServeOn(t, a, l)
}

// ServeOn serves an agent like Serve, and closes the listener at the end.
func ServeOn(t testing.TB, a agentpb.AgentServer, l net.Listener) (stop func()) {
	t.Helper()
	s := grpc.NewServer(grpc.Creds(marks{insecure.NewCredentials()}))
	agentpb.RegisterAgentServer(s, a)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return s.Stop
}

// marks reads what podstep agent-stdio writes first.
type marks struct {
	credentials.TransportCredentials
}

func (m marks) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, _, err := peer.IsElsewhere(c)
	if err != nil {
		return nil, nil, err
	}
	return m.TransportCredentials.ServerHandshake(c)
}

func (m marks) Clone() credentials.TransportCredentials { return m }

// Agent answers Info and keeps breakpoints; other calls fail as not implemented. A test embeds it and adds the calls
// that it needs.
type Agent struct {
	agentpb.UnimplementedAgentServer
	// About is the answer to Info.
	About *agentpb.InfoResponse
	// Steps and Refused are put into each breakpoint that is added.
	Steps   []string
	Refused []*agentpb.Refused

	mu          sync.Mutex
	last        uint32
	breakpoints []*agentpb.Breakpoint
}

// Breakpoints returns the present breakpoints, the oldest first.
func (a *Agent) Breakpoints() []*agentpb.Breakpoint {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.breakpoints)
}

// Info answers with About.
func (a *Agent) Info(context.Context, *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	return a.About, nil
}

// AddBreakpoint keeps a breakpoint under the next number, from 1.
func (a *Agent) AddBreakpoint(_ context.Context, r *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	b := &agentpb.Breakpoint{Id: a.last, Spec: r, Steps: a.Steps, Refused: a.Refused}
	a.breakpoints = append(a.breakpoints, b)
	return b, nil
}

// ListBreakpoints answers with Breakpoints.
func (a *Agent) ListBreakpoints(context.Context, *agentpb.ListBreakpointsRequest) (*agentpb.ListBreakpointsResponse, error) {
	return &agentpb.ListBreakpointsResponse{Breakpoints: a.Breakpoints()}, nil
}

// RemoveBreakpoint removes a breakpoint, or answers NOT_FOUND.
func (a *Agent) RemoveBreakpoint(_ context.Context, r *agentpb.RemoveBreakpointRequest) (*agentpb.Breakpoint, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, b := range a.breakpoints {
		if b.Id == r.Id {
			a.breakpoints = slices.Delete(a.breakpoints, i, i+1)
			return b, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "no breakpoint %d; see podstep break ls", r.Id)
}
