//go:build !sim && !node

package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain fails if a test has left a picture or a recording in the source directory.
func TestMain(m *testing.M) {
	code := m.Run()
	if left, _ := filepath.Glob("podstep-*"); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests left %q here\n", left)
		code = 1
	}
	os.Exit(code)
}
