// Package agentpb is the protocol between the agent and its clients: agent.proto, and the code that is generated from
// it.
package agentpb
