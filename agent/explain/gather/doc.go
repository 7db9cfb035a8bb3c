// Package gather fills snapshots (package evidence) with what can be reached: the API
// server, the kubelet's port, the container runtime, the machine, an agent or a trace
// file. It asks all of them at once, waits no longer than a deadline, notes what it
// could not see and why, and never changes anything.
package gather
