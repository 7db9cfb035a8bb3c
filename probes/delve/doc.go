// Package delve looks at a kubelet through Delve: it sees the steps by breakpoints, reads variables, and stops the
// kubelet where a pod is to be held.
//
// A breakpoint of Delve is an INT3 in the kubelet's code, and each stop stops the whole kubelet. So Delve works in a
// process of its own, the debugger process (process.go), which takes every breakpoint back when podstep ends, however
// that ends. It attaches a Delve of its own, or connects to a headless one that somebody has started (target.go).
// Either way it speaks to that Delve through service/rpc2, except to let the kubelet go on (native.go). At each stop
// it reads what package uprobe would make the kernel read there (loop.go), holds the goroutines that are to be held
// (hold.go), and lets the kubelet go on. Client is podstep's side.
package delve
