// Package attach hosts the agent, and any number of probes, for a kubelet that
// runs already, unmodified. A probe is started, watched and stopped by itself
// (probe.go), and one that fails costs the others nothing (attach.go).
//
// Probes of this package come between the kubelet and its runtime (cri.go), and
// ask the API server and the kubelet what they say of the node's pods
// (reports.go). The former takes the runtime's socket over so that the kubelet's
// calls pass through it (socket.go), publishes them as events and stops those that
// a person wants stopped (calls.go, publisher.go), and knows whose they are
// (identities.go). When it ends, nothing of it is left (criend.go).
package attach
