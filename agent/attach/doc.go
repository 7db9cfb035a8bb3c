// Package attach hosts the agent, and any number of probes, for a kubelet that
// runs already, unmodified. A probe is started, watched and stopped by itself
// (probe.go), and one that fails costs the others nothing (attach.go).
//
// The cri probe comes between the kubelet and its runtime (cri.go). It takes the runtime's socket over so that the
// kubelet's calls pass through it (socket.go), publishes them as events, stops those that a person wants stopped
// (calls.go, publisher.go), and knows which pods they are about (identities.go). When it ends, nothing of it is left
// (criend.go). The api and kubelet probes ask the API server and the kubelet what they report of the node's pods
// (reports.go). The uprobe and delve probes look inside the kubelet (inside.go, delve.go).
package attach
