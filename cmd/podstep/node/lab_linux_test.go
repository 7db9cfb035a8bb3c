package node

import (
	"strings"
	"testing"
)

// TestNoLabProgram: the error names what is missing and how to get it.
func TestNoLabProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := findProgram("podstep-lab")
	if err == nil || !strings.Contains(err.Error(), "make build") || !strings.Contains(err.Error(), "no podstep-lab beside podstep") {
		t.Errorf("without podstep-lab: %v", err)
	}
}
