package node

import "testing"

// TestNoLabProgram: the error names what is missing and how to get it.
func TestNoLabProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := findProgram("podstep-lab"); err == nil {
		t.Error("a program was found that is not there")
	}
}
