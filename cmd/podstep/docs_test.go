package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages: each command has a manual page of the date that the release gives, with its texts as they are.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767323045") // 2 January 2026
	dir := t.TempDir()
	root := (&app{name: "podstep", where: &where{}}).root()
	root.AddCommand(&cobra.Command{Use: "sample", Long: "Takes [-o json] and *_test.log of <FILE>.", Run: func(*cobra.Command, []string) {}})
	if err := manPages(root, dir); err != nil {
		t.Fatal(err)
	}
	eachCommand(root, func(c *cobra.Command) {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			return
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(page), `"Jan 2026"`) {
			t.Errorf("%s has another date: %.200s", c.CommandPath(), page)
		}
	})
	page, err := os.ReadFile(filepath.Join(dir, "podstep-sample.1"))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(string(page), `\`, ""); !strings.Contains(text, "Takes [-o json] and *_test.log of <FILE>.") {
		t.Errorf("the text is changed:\n%s", page)
	}
	if _, err := os.Stat(filepath.Join(dir, "podstep-docs.1")); err == nil {
		t.Error("a hidden command has a page")
	}
	if err := manPages(root, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a directory that does not exist: %v", err)
	}
}
