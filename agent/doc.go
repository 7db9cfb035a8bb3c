// Package agent runs where the steps are seen, and serves clients. It turns calls of woven functions into events, holds
// pods and lets them go, and answers the requests (requests.go) that come in by package server.
//
// The way of an event: a probe calls Enter and Leave (handler.go) on the goroutine of the kubelet; pods are identified
// (package pods), values become fields with their secrets taken out (package values), and the event is put into the
// journal (package journal), which keeps it and hands it to the watchers. A probe outside of the kubelet reports calls
// with Begin and End (outside.go).
//
// Enter, Leave and Stop also hold pods (holds.go, package holding), since there the pod's goroutine can be stopped.
// breakpoints.go and stepping.go decide when to hold a pod, by the table of package breakpoints and by what a person asked
// for, and may.go decides whether it may be held. In a lab it may be held even where the whole node then stands still.
//
// The packages breakpoints, holding and journal know nothing of each other, nor of calls. What each keeps of a pod is its
// part of podState.
//
// The order of locks: Agent.renewing, then one of Probe.mu, podSpan.mu, and the locks of the two tables, of breakpoints and
// of holds. podSpan.mu is locked from a call to the call around it, and podSpans.mu last. An event may be put under each of
// them, but no watcher added: the journal calls logCall, which locks the breakpoints, under the lock that this takes.
//
// The kubelet comes first: nothing here blocks it unless a person asked for a hold, every buffer is bounded, and events
// that do not fit are counted.
package agent
