// Package simcri is a container runtime that runs no processes: a CRI v1 runtime
// and image service with the state machines, ids, times, events, log files and
// errors of a real one, for the lab's kubelet.
//
// What a container does follows from its command if that is understood (package ash), from annotations of its pod, or
// from a scenario file; see docs/sim.md. Pods have addresses of the loopback network, so health probes reach their
// ports without root.
package simcri
