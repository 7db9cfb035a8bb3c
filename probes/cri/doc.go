// Package cri knows the calls by which a kubelet speaks to its container runtime as they are on the wire: which of
// them are steps of the catalogue, which pod each is about, and what the step shows of it.
//
// A woven kubelet shows these steps with expressions over the arguments and results of the kubelet's CRI client.
// Here the same values are made from the request and the answer, so that a story reads the same whichever probe saw
// it. That holds also where the client turns an answer into an error, as for a command that exits with another code
// than 0.
//
// Which method a step is, and where its values are in the messages, is in the catalogue. Such
// a path has one of these forms:
//
//	status.network.ip                   a member; of a message that is not set, its default
//	linux?.cgroup_driver                a member; zero if the message before ? is not set
//	image?                              whether a member is set
//	timeout*1s                          an integer that counts such durations
//	ContainerResources{linux, windows}  a message made of members of this one
//	.                                   the message itself
//
// Members have the names of the CRI's api.proto. An integer of 32 bits is read as an int, an
// enum as its name, repeated strings as a []string. What the kubelet's client makes of answers
// and errors takes code: see verdict.go.
//
// The package moves no bytes. What it is given are messages, without the five
// bytes that gRPC puts before each.
package cri
