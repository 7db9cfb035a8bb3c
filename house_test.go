// Package podstep holds the laws of the house: what may import what, how large a file and a function may be, which
// words and sentences the code does without, and that podstep and its lab are built of the same versions.
package podstep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/podstep/podstep"

// modules are the directories of the modules of this repository: podstep, the lab, which alone needs Kubernetes, and the
// tool that makes a release, which alone needs what packs.
var modules = []string{".", "lab", "release"}

// tags are the build tags that some packages have all their files under.
const tags = "node,sim,critest,bench,harmless,pictures,vm"

// listed is what go list reports of a package.
type listed struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// list returns what the go command knows of the packages of all modules, by their paths in the repository.
func list(t *testing.T) map[string]listed {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listOnce = sync.OnceValues(func() (map[string]listed, error) {
	all := map[string]listed{}
	for _, dir := range modules {
		if err := listInto(all, dir); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func listInto(all map[string]listed, dir string) error {
	cmd := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Dir,Doc,Imports,Deps,GoFiles", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", dir, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read go list: %w", err)
		}
		all[strings.TrimPrefix(p.ImportPath, module+"/")] = p
	}
}

// TestVersions checks that podstep and the lab are built of the same versions of what they share: else most of it would be
// compiled twice, and the kubelet's side of podstep would be another than the screen's. The release tool shares no package
// of podstep, and has versions of its own.
func TestVersions(t *testing.T) {
	root, lab := versions(t, "."), versions(t, "lab")
	shared := 0
	for path, version := range root {
		other, ok := lab[path]
		if !ok {
			continue
		}
		shared++
		if version != other {
			t.Errorf("%s: %s in go.mod, %s in lab/go.mod; go get one of them in the other module", path, version, other)
		}
	}
	if shared < 20 {
		t.Errorf("the modules share only %d modules", shared)
	}
}

// versions returns the versions of the modules of all packages that the packages of a module import, by module.
func versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	const format = "{{with .Module}}{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}"
	cmd := exec.Command("go", "list", "-deps", "-f", format, "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	all := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if path, version, ok := strings.Cut(line, " "); ok && version != "" {
			all[path] = version
		}
	}
	return all
}

// TestTaggedTests checks that scripts/tests.sh runs the tests of every file that needs a node: no others run them.
func TestTaggedTests(t *testing.T) {
	script, err := os.ReadFile("scripts/tests.sh")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]string{} // directories by tag; one that ends with /... has all below it
	for _, m := range regexp.MustCompile(`(?m)run (\S+) (\w+) '[^']*' (.*?) ;;$`).FindAllStringSubmatch(string(script), -1) {
		for _, dir := range strings.Fields(m[3]) {
			parts[m[2]] = append(parts[m[2]], filepath.Join(m[1], dir))
		}
	}
	for path, text := range sources(t) {
		line, _, _ := bytes.Cut(text, []byte("\n"))
		for _, tag := range []string{"sim", "node"} {
			tagged := regexp.MustCompile(`^//go:build .*\b`+tag+`\b`).Match(line) && !bytes.Contains(line, []byte("!"+tag))
			inPart := slices.ContainsFunc(parts[tag], func(pattern string) bool {
				above, whole := strings.CutSuffix(pattern, "/...")
				return filepath.Dir(path) == pattern || whole && within(filepath.Dir(path), above)
			})
			if tagged && bytes.Contains(text, []byte("\nfunc Test")) && !inPart {
				t.Errorf("no part of scripts/tests.sh runs the tests of %s", path)
			}
		}
	}
	if len(parts["sim"]) < 3 || len(parts["node"]) < 6 {
		t.Errorf("only these parts were found: %v", parts)
	}
}

// TestPartsInCI checks that CI runs each part of scripts/tests.sh once.
func TestPartsInCI(t *testing.T) {
	ci, err := os.ReadFile("scripts/ci.sh")
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, m := range regexp.MustCompile(`(?m)^(?:tests|printf '%s\\n') ([^&>\n]*)`).FindAllSubmatch(ci, -1) {
		runs = append(runs, strings.Fields(string(m[1]))...)
	}
	for _, part := range labParts(t) {
		if n := len(slices.DeleteFunc(slices.Clone(runs), func(s string) bool { return s != part })); n != 1 {
			t.Errorf("scripts/ci.sh runs the part %s %d times", part, n)
		}
	}
}

// labParts returns the parts of scripts/tests.sh.
func labParts(t *testing.T) []string {
	t.Helper()
	listed, err := exec.Command("scripts/tests.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Fields(string(listed))
	if len(parts) < 10 {
		t.Fatalf("scripts/tests.sh has only the parts %q", parts)
	}
	return parts
}

// TestProofs checks that scripts/proofs.txt names paths and parts that are there, and each part.
func TestProofs(t *testing.T) {
	text, err := os.ReadFile("scripts/proofs.txt")
	if err != nil {
		t.Fatal(err)
	}
	parts := append(labParts(t), "test-cri")
	named := map[string]bool{"all": true, "-": true}
	for _, part := range parts {
		named[part] = false
	}
	for _, line := range strings.Split(string(text), "\n") {
		path, proofs, _ := strings.Cut(line, " ")
		if path == "" || path == "#" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		for _, part := range strings.Fields(proofs) {
			if _, known := named[part]; !known {
				t.Errorf("%s is to be proven by %s, and there is no such part", path, part)
			}
			named[part] = true
		}
	}
	for _, part := range parts {
		if !named[part] {
			t.Errorf("no path is proven by the part %s", part)
		}
	}
}
