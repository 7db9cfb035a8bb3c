// Package life works out what a pod is doing. It takes the events of a history one after the other. For every
// position it knows at which step each pod is, since when, and with which error it fails, and from that its State,
// the one verdict on it.
//
// The agent, the screen and the command line all use Lives, so that they never disagree. The meaning of a step comes
// from the catalogue (probes.Role).
package life
