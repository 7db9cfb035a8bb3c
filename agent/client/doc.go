// Package client speaks to the agent: it finds the socket and says plainly
// what is wrong with it, and turns what comes over the wire into the events of
// package probes. CLI, terminal UI and tests all reach the agent through it.
//
// Errors are sentences for a person ("what happened; what to do next") with a
// Kind that states for a program what sort of failure it was.
package client
