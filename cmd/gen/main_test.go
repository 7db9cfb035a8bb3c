package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/cmd/gen/kubelet"
)

const root = "../.."

// TestPagesAreUpToDate makes each page anew. The packages of the generators test their own output.
func TestPagesAreUpToDate(t *testing.T) {
	t.Chdir(root)
	for _, g := range generators {
		if !strings.HasSuffix(g.to, ".md") {
			continue
		}
		made := filepath.Join(t.TempDir(), "page.md")
		if err := g.write(made, kubelet.Module); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(g.to)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go run ./cmd/gen %s", g.to, g.name)
		}
	}
}
