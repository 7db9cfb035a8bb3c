// Package simcri is a container runtime that runs no processes: a CRI v1 runtime
// and image service with the state machines, ids, times, events, log files and
// errors of a real one, for the lab's kubelet.
//
// What its containers do follows from their command where that is understood
// (package ash), from annotations of their pod, or from a scenario file; see
// docs/sim.md. Pods have addresses of the loopback network, so that health
// probes reach their ports without root.
package simcri
