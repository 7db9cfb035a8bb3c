package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/probes"
)

// others are directories whose texts are not for this page: the walks have pages of
// their own, and the rest is not for people or not ours.
var others = []string{"docs/tours", "docs/walkthroughs", "bin", "testdata", "agent/attach/probetest"}

// commands is where errors are those of the command line.
const commands = "cmd/podstep"

// collect reads the texts of a repository, by package and file, in the order in which
// they stand there. A text that a package has twice is there once.
func collect(root string) ([]sentence, error) {
	dirs := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if place != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains(others, place) || slices.Contains(others, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".go" && !strings.HasSuffix(path, "_test.go") {
			dirs[filepath.Dir(place)] = append(dirs[filepath.Dir(place)], path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	code, err := parse(dirs)
	if err != nil {
		return nil, err
	}
	var all []sentence
	for _, place := range slices.Sorted(maps.Keys(dirs)) {
		seen := map[sentence]bool{}
		for _, path := range dirs[place] {
			found := code.sentences(place, path)
			if filepath.Ext(path) == ".yaml" {
				if found, err = fromYAML(place, path); err != nil {
					return nil, err
				}
			}
			for _, s := range found {
				if !seen[s] {
					seen[s] = true
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

// fromYAML finds the mappings of a file that have en and zh.
func fromYAML(place, path string) (found []sentence, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		var t probes.Text
		if n.Kind == yaml.MappingNode && isText(n) && n.Decode(&t) == nil {
			found = append(found, sentence{place, t.En, t.Zh})
			return
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(&doc)
	return found, nil
}

// isText recognizes a mapping of en and zh.
func isText(n *yaml.Node) bool {
	return len(n.Content) == 4 && n.Content[0].Value == "en" && n.Content[2].Value == "zh"
}
