// Package walkthroughs makes docs/walkthroughs from the guided walks: one page for each walk
// and language, the manifests as files, and the list of all.
package walkthroughs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

// Write makes the directory anew. It removes the pages of walks that no longer exist.
func Write(dir string) error {
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

// all returns every file of the directory, by name.
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
