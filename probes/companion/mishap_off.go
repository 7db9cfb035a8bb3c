//go:build !mishaps

package companion

// Mishap does nothing: see the one that tests are built with.
func Mishap(string) {}
