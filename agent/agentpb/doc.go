// Package agentpb is the protocol between the agent and its clients: agent.proto,
// and what is generated from it.
package agentpb
