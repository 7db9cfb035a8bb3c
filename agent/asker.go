package agent

import (
	"context"
	"strconv"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
)

// maxMessage bounds the message of a hold or a breakpoint, in bytes: every event of a hold has it.
const maxMessage = 200

// asker is the process that asked for a hold or a breakpoint, and the message that it left for others.
type asker struct {
	server.Peer
	message string
}

// askerFrom returns the process that makes a request, with the request's message.
func askerFrom(ctx context.Context, message string) (asker, error) {
	if len(message) > maxMessage {
		return asker{}, invalid(agentpb.Problem_LONG_MESSAGE, args{"most": strconv.Itoa(maxMessage)})
	}
	return asker{server.PeerFrom(ctx), values.Text(message)}, nil
}

// fields returns the fields that name the process and its message in an event.
func (a asker) fields() []field {
	out := a.Peer.Fields()
	if a.message != "" {
		out = append(out, text("message", a.message))
	}
	return out
}
