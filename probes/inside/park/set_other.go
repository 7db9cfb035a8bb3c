//go:build linux && !amd64 && !arm64

package park

// setter sets the registers of a thread; there is none here.
type setter func()
