// Package reading reads a kubelet's values at the places of its code where the steps' functions are entered and left. A
// Plan states what to read, and a Record has what was read. Package uprobe makes the plan, for a program in the kernel
// (bpf/steps.bpf.c), and makes calls from the records. Where a debugger stops the kubelet, a Reader does what that program
// does.
package reading
