package labtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCommand: each command of podstep is in the table of those whose output is searched for secrets, or has the
// reason there why it is not. docs/cli has a page for each command.
func TestEveryCommand(t *testing.T) {
	pages, err := filepath.Glob("../../docs/cli/podstep*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages of commands: %v", err)
	}
	have := map[string]bool{}
	for _, page := range pages {
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(page), ".md"), "_", " ")
		have[name] = true
		if c, ok := swept[name]; !ok || (len(c.args) == 0) == (c.why == "") {
			t.Errorf("%s is not in the table: what it prints is not searched for secrets", name)
		}
	}
	for name := range swept {
		if !have[name] {
			t.Errorf("%s is in the table, and podstep has no such command", name)
		}
	}
}
