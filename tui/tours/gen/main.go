// Command gen writes docs/walkthroughs from the guided walks: a page a walk in
// each language, the manifests as files, and the list of all.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write makes the directory anew: a page of a walk that is gone goes too.
func write(dir string) error {
	pages, err := all()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

// all is every file of the directory, by name.
func all() (map[string]string, error) {
	catalogue, err := probes.Load()
	if err != nil {
		return nil, err
	}
	walks, err := tours.Load()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, l := range languages {
		g := &generator{language: l, catalogue: catalogue, anchors: anchors(catalogue), walks: walks}
		out["README"+l.ending] = g.index()
		for i := range walks {
			out[walks[i].Name+l.ending] = g.page(&walks[i])
		}
	}
	for i := range walks {
		for name, text := range manifests(&walks[i]) {
			out[name] = text
		}
	}
	return out, nil
}
