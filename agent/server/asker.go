package server

import (
	"context"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
)

// maxMessage bounds the message of a hold or a breakpoint, in bytes: every event of a hold has it.
const maxMessage = 200

// Asker is the process that asked for a hold or a breakpoint, and the message that it left for others.
type Asker struct {
	Peer
	Message string
}

// AskerFrom returns the process that makes a request, with the request's message.
func AskerFrom(ctx context.Context, message string) (Asker, error) {
	if len(message) > maxMessage {
		return Asker{}, reason.Failed(codes.InvalidArgument, &agentpb.Problem{
			Code: agentpb.Problem_LONG_MESSAGE, Args: map[string]string{"most": strconv.Itoa(maxMessage)},
		})
	}
	return Asker{PeerFrom(ctx), values.Text(message)}, nil
}

// Fields returns the fields that name the process and its message in an event.
func (a Asker) Fields() []wire.Field {
	out := a.Peer.Fields()
	if a.Message != "" {
		out = append(out, wire.Text("message", a.Message))
	}
	return out
}
