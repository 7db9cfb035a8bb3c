// Package uprobe sees the steps of a kubelet that runs, unmodified and stripped, through
// uprobes of the kernel and an eBPF program.
//
// The steps' functions are found in the table that Go's runtime keeps for its own stack traces. So are the places at
// which each is entered and returns (program.go, find.go, places.go). Package memory knows what to read there in the
// kubelet's version (plan.go, reader.go). At these places the kernel runs the program of bpf/steps.bpf.c (kernel.go),
// which puts records into a ring buffer (record.go). The plan and the records have the form of package reading, since a
// debugger may stop the kubelet in the kernel's stead (debugged.go). The package makes calls from the records, each in
// the call around it, by goroutine (calls.go, goroutines.go, turns.go). It also makes their values from the records
// (record.go, quiet.go, errors.go).
//
// Nothing of this stops the kubelet or changes its memory, and the kernel takes all of it back when the process that
// asked for it ends.
package uprobe
