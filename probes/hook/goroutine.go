//go:build amd64 || arm64

package hook

// Goroutine identifies the calling goroutine among those that live, by the address of the runtime's structure for
// it. The runtime uses the structure of a goroutine that has ended for a later one.
func Goroutine() uintptr
