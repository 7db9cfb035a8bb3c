package client

import (
	"context"

	"google.golang.org/grpc"

	"github.com/podstep/podstep/agent/agentpb"
)

// AddBreakpoint asks the agent for a breakpoint. An agent ignores an action that it does not know, and would hold the pods,
// so it is only asked for what it knows.
func (c *Client) AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest, opts ...grpc.CallOption) (*agentpb.Breakpoint, error) {
	if _, snaps := req.GetAction().(*agentpb.AddBreakpointRequest_Snapshot); snaps && !c.info.GetSnapshots() {
		return nil, newError(Failed, nil, text("the agent at %s keeps no stacks, and would hold the pods instead: it is of podstep %s; update podstep on the node", "%s 的代理不能保存调用栈，反而会停住 Pod：它的 podstep 版本是 %s；请更新节点上的 podstep"), c.Place, c.info.GetVersion())
	}
	if _, logs := req.GetAction().(*agentpb.AddBreakpointRequest_Log); logs && !c.info.GetLogs() {
		return nil, newError(Failed, nil, text("the agent at %s knows no logs, and would hold the pods instead: it is of podstep %s; update podstep on the node", "%s 的代理不支持日志断点，反而会停住 Pod：它的 podstep 版本是 %s；请更新节点上的 podstep"), c.Place, c.info.GetVersion())
	}
	return c.AgentClient.AddBreakpoint(ctx, req, opts...)
}
