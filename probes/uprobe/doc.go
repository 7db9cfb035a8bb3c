// Package uprobe sees the steps of a kubelet that runs, unmodified and stripped, through
// uprobes of the kernel and an eBPF program.
//
// The steps' functions are found in the table that Go's runtime keeps for its own stack
// traces, and where each is entered and returns (program.go, find.go, places.go). What is
// read there is what package memory has for the kubelet's version (plan.go, reader.go). The kernel
// runs the program of bpf/steps.bpf.c at these places (kernel.go), which puts records into
// a ring buffer (record.go). From records come calls, each with the call that it happens in,
// by goroutine (calls.go, goroutines.go, turns.go), and values (record.go, quiet.go, errors.go).
//
// Nothing of this stops the kubelet or changes its memory, and the kernel takes all of it
// back when the process ends that asked for it.
package uprobe
