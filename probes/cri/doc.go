// Package cri knows the calls by which a kubelet speaks to its container
// runtime as they are on the wire: which of them are steps of the catalogue,
// which pod each is about, and what the step shows of it.
//
// A woven kubelet shows these steps with expressions over the arguments and
// results of the kubelet's CRI client. Here the same values are made of the
// request and the answer, so that a story reads the same whoever saw it: also
// where the client turns an answer into an error, as for a command that exits
// with another code than 0.
//
// The package moves no bytes. What it is given are messages, without the five
// bytes that gRPC puts before each.
package cri
