// Package attach hosts the agent beside a kubelet that runs already, unmodified:
// it takes the runtime's socket over so that the kubelet's calls pass through it
// (socket.go), tells the agent of them and stops those that a person wants
// stopped (calls.go, teller.go), knows whose they are (identities.go), and fills
// in what the cluster says (story.go). When it ends, nothing of it is left
// (stop.go).
package attach
