// Package gather fills snapshots (package evidence) with what can be reached: the API server,
// the kubelet's port, the container runtime, the machine, an agent or a trace file. It asks all
// of them at once and waits no longer than a deadline. It notes what it could not see, and why.
// It never changes anything.
package gather
