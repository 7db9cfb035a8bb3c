package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
)

// holdingAgent is an agent that keeps holds. Somebody else holds shop/db-0 from the beginning.
type holdingAgent struct {
	*fakeAgent
	mu    sync.Mutex
	last  uint32
	holds []*agentpb.HoldInfo
	asked []string
}

func newHoldingAgent() *holdingAgent {
	return &holdingAgent{fakeAgent: newFakeAgent(), last: 3, holds: []*agentpb.HoldInfo{hold(db)}}
}

// keep keeps a hold of a pod in the place of another.
func (f *holdingAgent) keep(sel *agentpb.PodSelector, asked string) (*agentpb.HoldInfo, error) {
	p, err := f.single(sel)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	h := hold(p)
	h.Id = f.last
	f.holds = append(slices.DeleteFunc(f.holds, func(x *agentpb.HoldInfo) bool { return x.Pod == p }), h)
	f.asked = append(f.asked, asked)
	return h, nil
}

func (f *holdingAgent) Hold(_ context.Context, r *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	return f.keep(r.Pods, fmt.Sprint("hold ", r.Lease.AsDuration(), " ", r.Wait.AsDuration(), " ", r.WhileConnected, " ", r.Force))
}

func (f *holdingAgent) Step(_ context.Context, r *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	return f.keep(r.Pods, fmt.Sprint("step ", r.Lease.AsDuration(), " ", r.Wait.AsDuration(), " ", r.WhileConnected, " ", r.Mode, r.Until, " ", r.Pods.Uid))
}

func (f *holdingAgent) Continue(_ context.Context, r *agentpb.ContinueRequest) (*agentpb.ContinueResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint("continue ", r.All, " ", r.Pods.Uid))
	for i, h := range f.holds {
		if h.Pod.Uid == r.Pods.Uid {
			f.holds = slices.Delete(f.holds, i, i+1)
			return &agentpb.ContinueResponse{Released: []*agentpb.HoldInfo{h}}, nil
		}
	}
	return nil, status.Error(codes.NotFound, "it is not held")
}

func (f *holdingAgent) ListHolds(context.Context, *agentpb.ListHoldsRequest) (*agentpb.ListHoldsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &agentpb.ListHoldsResponse{Holds: slices.Clone(f.holds)}, nil
}

// TestHolding: with --allow-holds the assistant holds pods, with short leases that end with the connection. It lets go only
// what it holds.
func TestHolding(t *testing.T) {
	sealed(t)
	dir, err := os.MkdirTemp("", "podstep") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := newHoldingAgent()
	agenttest.Serve(t, f, filepath.Join(dir, "agent"))
	a := newAssistant(t, &app{where: (&where{}).with(client.At(filepath.Join(dir, "agent")))}, &mcpFlags{holds: true})
	if got := a.InitializeResult(); got.ServerInfo.Name != "podstep-holds" || !strings.Contains(got.Instructions, "These stop a pod for at most 30s; ask the person") {
		t.Errorf("the server is %+v: %s", got.ServerInfo, got.Instructions)
	}
	type args = map[string]any
	for _, x := range []struct {
		tool  string
		args  args
		wrong bool
		want  string
		asked string // of the agent; empty: nothing that changes anything
	}{
		{"step", args{"pod": "web"}, true, "web is not held", ""},
		{"hold", args{"pod": "web"}, false, `"id":4,"pod":{"namespace":"default","name":"web","uid":"u-web"},"step":"cri.RunPodSandbox"`, "hold 30s 20s true false"},
		{"step", args{"pod": "web", "to": "cri", "lease": 7}, false, `"id":5`, "step 7s 20s true NEXT_CRI u-web"},
		{"step", args{"pod": "web", "to": "sync.vol*"}, false, `"id":6`, "step 30s 20s true UNTILsync.vol* u-web"},
		{"step", args{"pod": "web", "to": "sync.volums"}, true, "to is no way to go, and there is no step \"sync.volums\"; did you mean sync.volumes", ""},
		{"continue", args{"pod": "web"}, false, `"answer":[{"id":6`, "continue false u-web"},
		{"continue", args{"pod": "web"}, true, "web is not held", ""},
		{"continue", args{"pod": "shop/db-0"}, true, "shop/db-0 is held by somebody else", ""},
		{"step", args{"pod": "db-0"}, true, "db-0 is held by somebody else", ""},
		{"hold", args{"pod": "web", "lease": 31}, true, "it is from 1 to 30", ""},
		{"hold", args{"pod": "web", "lease": -1}, true, "it is from 1 to 30", ""},
		{"hold", args{"pod": "web", "force": true}, true, `unexpected additional properties ["force"]`, ""},
		{"hold", args{"pod": "twin"}, true, "2 pods are called twin", ""},
		{"hold", args{"pod": "*"}, true, "can match several pods", ""},
		{"hold", nil, true, "the pod is missing", ""},
		{"continue", nil, true, "the pod is missing", ""},
	} {
		before := len(f.asked)
		r := a.call(t, x.tool, x.args)
		if text := textOf(t, r); r.IsError != x.wrong || !strings.Contains(text, x.want) {
			t.Errorf("%s %v: %s", x.tool, x.args, text)
		}
		if got := strings.Join(f.asked[before:], "; "); got != x.asked {
			t.Errorf("%s %v: the agent is asked to %q, want %q", x.tool, x.args, got, x.asked)
		}
	}
}

// TestHoldsNeedLeave: the tools that hold are there only with --allow-holds, say what they are, and need an agent.
func TestHoldsNeedLeave(t *testing.T) {
	sealed(t)
	for _, allowed := range []bool{false, true} {
		a := newAssistant(t, &app{where: (&where{}).with(client.At(filepath.Join(t.TempDir(), "none")))}, &mcpFlags{holds: allowed})
		tools, err := a.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var holds []string
		for _, tool := range tools.Tools {
			switch h := tool.Annotations; {
			case !h.ReadOnlyHint && *h.DestructiveHint && !h.IdempotentHint && !*h.OpenWorldHint:
				holds = append(holds, tool.Name)
			case !h.ReadOnlyHint || *h.DestructiveHint || *h.OpenWorldHint:
				t.Errorf("%s says %+v", tool.Name, h)
			}
		}
		if got := strings.Join(holds, " "); got != map[bool]string{true: "continue hold step"}[allowed] {
			t.Errorf("allowed %t: the tools that hold are %q", allowed, got)
		}
		if allowed {
			if r := a.call(t, "hold", map[string]any{"pod": "web"}); !r.IsError || !strings.Contains(textOf(t, r), "no agent at [path]") {
				t.Errorf("without an agent: %s", textOf(t, r))
			}
		}
	}
	err := (&app{where: &where{}}).serveMCP(t.Context(), &mcpFlags{holds: true, files: []string{wovenFile}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "--file alone has none") {
		t.Errorf("holds of a recording: %v", err)
	}
}

// TestHoldsEnd: when the assistant goes, the connection to the agent ends, and with it the holds.
func TestHoldsEnd(t *testing.T) {
	sealed(t)
	dir, err := os.MkdirTemp("", "podstep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	agenttest.Serve(t, newHoldingAgent(), filepath.Join(dir, "agent"))
	h := &oncallHolds{app: &app{where: (&where{}).with(client.At(filepath.Join(dir, "agent")))}, own: map[uint32]bool{}}
	c, err := h.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Info(ctx, &agentpb.InfoRequest{}); err == nil {
		t.Error("the connection goes on")
	}
}
