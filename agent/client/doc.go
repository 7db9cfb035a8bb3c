// Package client speaks to the agent. It finds the socket, says plainly what is wrong with it, and turns what comes
// over the wire into the events of package probes. CLI, terminal UI and tests all reach the agent through it.
//
// Errors are sentences for a person ("what happened; what to do next"). Their Kind tells a program what sort of failure
// it was.
package client
