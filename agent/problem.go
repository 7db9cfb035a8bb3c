package agent

import (
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// args are the arguments of a problem, by name.
type args map[string]string

func problem(code agentpb.Problem_Code, with args) *agentpb.Problem {
	return &agentpb.Problem{Code: code, Args: with}
}

// invalid returns the error of a request that makes no sense, whatever the state of the node.
func invalid(code agentpb.Problem_Code, with args) error {
	return reason.Failed(codes.InvalidArgument, problem(code, with))
}

func notFound(code agentpb.Problem_Code, with args) error {
	return reason.Failed(codes.NotFound, problem(code, with))
}

// refused returns the error of a request that the agent cannot do now.
func refused(code agentpb.Problem_Code, with args) error {
	return reason.Failed(codes.FailedPrecondition, problem(code, with))
}

// refusedFor is refused with a cause.
func refusedFor(cause *agentpb.Problem, code agentpb.Problem_Code, with args) error {
	p := problem(code, with)
	p.Cause = cause
	return reason.Failed(codes.FailedPrecondition, p)
}
