// Package podstep holds the tests of the house as a whole: which package may
// import which, that each says what it is for, and that none has grown too large.
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

type listed struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// tags are the build tags that some packages have all their files under.
const tags = "node,sim,critest,bench,harmless,pictures"

// list is what the go command knows of our packages, by their paths.
func list(t *testing.T) map[string]listed {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listOnce = sync.OnceValues(func() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Dir,Doc,Imports,Deps,GoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		all[strings.TrimPrefix(p.ImportPath, module+"/")] = p
	}
})

// TestArrows: the packages of ours are those of the list, and each imports what
// the list has for it.
func TestArrows(t *testing.T) {
	all, seen := list(t), map[string]pkg{}
	for _, p := range packages {
		l, ok := all[p.path]
		if !ok || len(l.GoFiles) == 0 {
			t.Errorf("%s: the list has a package that is not there", p.path)
		}
		for _, to := range p.imports {
			switch target, ok := seen[to]; {
			case !ok:
				t.Errorf("%s imports %s, which does not stand before it in the list", p.path, to)
			case target.forTests && !p.forTests:
				t.Errorf("%s imports %s, which is for tests", p.path, to)
			}
			if !slices.Contains(ours(l.Imports), to) {
				t.Errorf("%s does not import %s any more: take it out of the list", p.path, to)
			}
		}
		for _, to := range ours(l.Imports) {
			if !slices.Contains(p.imports, to) {
				t.Errorf("%s imports %s, which the list does not allow", p.path, to)
			}
		}
		if _, twice := seen[p.path]; twice {
			t.Errorf("%s stands in the list twice", p.path)
		}
		seen[p.path] = p
	}
	for path, l := range all {
		if _, ok := seen[path]; !ok && len(l.GoFiles) > 0 {
			t.Errorf("%s is not in the list of packages", path)
		}
	}
}

// TestNever: no package depends, by whatever way, on what it must not.
func TestNever(t *testing.T) {
	all, place := list(t), map[string]int{}
	for i, p := range packages {
		place[p.path] = i
	}
	for _, rule := range never {
		l, ok := all[rule.from]
		if !ok {
			t.Errorf("there is no package %s: its rule has no use", rule.from)
		}
		if to, ok := place[rule.to]; ok && to > place[rule.from] {
			t.Errorf("%s stands behind %s in the list: the rule against it has no use", rule.to, rule.from)
		}
		for _, dep := range l.Deps {
			if within(strings.TrimPrefix(dep, module+"/"), rule.to) {
				t.Errorf("%s depends on %s: %s", rule.from, dep, rule.why)
			}
		}
	}
}

// TestWithin: a rule names a package, all beneath it, and nothing else.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		dep, to string
		want    bool
	}{
		{"agent/lab", "agent/lab", true},
		{"agent/lab/simcri", "agent/lab", true},
		{"agent/labels", "agent/lab", false},
		{"k8s.io/kubernetes/pkg/kubelet", "k8s.io/kubernetes", true},
		{"k8s.io/kubernetes", "k8s.io", true},
		{"k8s.io/kubernetes", anyModule, true},
		{"net/http", anyModule, false},
		{"probes", anyModule, true},
	} {
		if got := within(c.dep, c.to); got != c.want {
			t.Errorf("within(%s, %s) = %t", c.dep, c.to, got)
		}
	}
}

// within reports whether a rule's target names the package.
func within(dep, to string) bool {
	if to == anyModule {
		first, _, _ := strings.Cut(dep, "/")
		return strings.Contains(first, ".") || slices.ContainsFunc(packages, func(p pkg) bool { return p.path == dep })
	}
	return dep == to || strings.HasPrefix(dep, to+"/")
}

// ours are those of import paths that are packages of ours.
func ours(paths []string) (out []string) {
	for _, path := range paths {
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			out = append(out, own)
		}
	}
	return out
}

// TestArchitecture: the table of packages in docs/architecture.md has the
// packages of the list in its order, and in its last column what each imports.
// Behind a semicolon there may be a word on what it needs of others.
func TestArchitecture(t *testing.T) {
	const file = "docs/architecture.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("\n## Where things are\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	rows := regexp.MustCompile("(?m)^\\| `(.+?)` \\| .+ \\| (.*?) ?\\|$").FindAllStringSubmatch(string(text), -1)
	for i, p := range packages {
		if i >= len(rows) || rows[i][1] != p.path {
			t.Fatalf("%s: row %d of the table of packages is not about %s", file, i+1, p.path)
		}
		want := ""
		if len(p.imports) > 0 {
			want = "`" + strings.Join(p.imports, "`, `") + "`"
		}
		if got, _, _ := strings.Cut(rows[i][2], "; "); got != want && (want != "" || strings.Contains(got, "`")) {
			t.Errorf("%s: by the list, the last column for %s is %q, not %q", file, p.path, want, got)
		}
	}
	if len(rows) > len(packages) {
		t.Errorf("%s: the table of packages has %q, which the list has not", file, rows[len(packages)][1])
	}
}

// maxFiles is how many files a package may have, without tests and generated ones.
// One that has more is several packages: what is a subject of its own moves out.
const maxFiles = 30

func TestFiles(t *testing.T) {
	for path, p := range list(t) {
		var written []string
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if !generated.Match(text) {
				written = append(written, name)
			}
		}
		if len(written) > maxFiles {
			t.Errorf("package %s has %d files, more than %d", path, len(written), maxFiles)
		}
	}
}

// generated is the line that says that a file is.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestPackageComments(t *testing.T) {
	for path, p := range list(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s does not say what it is for", path)
		}
	}
}
