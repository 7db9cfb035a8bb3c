// Package agent sits where the steps are seen and serves those who watch: it
// turns calls of woven functions into events, keeps the recent story of every
// pod, holds pods and lets them go, and answers requests (requests.go), which come
// in by package server.
//
// The way of an event: a probe calls Enter and Leave (handler.go) on the
// goroutine of the kubelet; pods are identified (package pods), values become fields
// with their secrets taken out (package values), and the event is queued
// (journal.go). One goroutine takes the queue, encodes each event once, keeps it
// (recorder.go) and hands it to who watches (watcher.go). A probe outside of the
// kubelet reports calls with Begin and End (outside.go).
//
// Holding (holds.go) is done in Enter and Leave too, or in Stop, since that is
// where the pod's goroutine can be stopped; breakpoints.go and stepping.go decide
// when, and may.go whether: in a lab also where the node then stands still.
//
// The kubelet comes first: nothing here blocks it unless a person asked for a
// hold, every buffer is bounded, and what does not fit is counted.
package agent
