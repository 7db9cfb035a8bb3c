//go:build amd64 || arm64

package hook

// anyFrameIn reports whether one of the next few frames of this goroutine returns
// into either range of addresses. It reads frame pointers, which Go keeps on
// these architectures, and costs a few loads where runtime.Callers costs some
// hundred nanoseconds.
//
//go:noescape
func anyFrameIn(lo1, hi1, lo2, hi2 uintptr) bool
