package labtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/agent/trace"
)

// SilentRecord checks all files of a record directory, and the names of the files.
func (c *Canaries) SilentRecord(tb testing.TB, dir string) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	segments := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		c.Silent(tb, "the name of a file of the record directory", e.Name())
		if filepath.Ext(path) != ".podstep" {
			text, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			c.Silent(tb, path, string(text))
			continue
		}
		segments++
		c.SilentTrace(tb, path)
		c.silentFooter(tb, path)
	}
	if segments == 0 {
		tb.Errorf("the record directory %s has no segments", dir)
	}
}

// silentFooter checks the index at the end of a segment.
func (c *Canaries) silentFooter(tb testing.TB, path string) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := trace.ReadFooter(f, info.Size())
	if err != nil {
		tb.Fatal(err)
	}
	c.Silent(tb, "the index of a segment", string(text))
}
