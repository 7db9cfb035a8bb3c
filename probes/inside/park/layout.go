//go:build linux && !arm64

package park

// here is the layout of records on this machine.
var here = &x86Layout
