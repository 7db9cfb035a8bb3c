// Package delve has Delve look at a kubelet: it sees the steps by breakpoints, reads
// variables, and stops where a pod is to be held.
//
// A breakpoint of Delve is an INT3 in the kubelet's code, and each stop is one of the whole
// kubelet. So Delve works in a process of its own, the debugger process (process.go), which
// takes every breakpoint back when podstep ends, however that ends. It attaches a Delve of
// its own, or connects to a headless one that somebody has started (target.go); either way
// it speaks to it through service/rpc2, but for going on (native.go). At each stop it reads what package uprobe would have
// the kernel read there (loop.go), holds who is to be held (hold.go), and has the kubelet go
// on. podstep's side of it is Client.
package delve
