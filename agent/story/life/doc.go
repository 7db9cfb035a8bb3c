// Package life works out what a pod is doing. It takes the events of a history one
// after the other and knows, at every position, at which step each pod is, since
// when, what it fails with, and by that the one verdict on it: its State.
//
// The agent, the screen and the command line use the same Lives, so that they
// never disagree. What a step means comes from the catalogue (probes.Role).
package life
