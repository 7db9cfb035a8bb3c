package walkthroughs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/tours"
)

const dir = "../../../docs/walkthroughs"

// TestPages: the files in the directory are the ones that would be generated.
func TestPages(t *testing.T) {
	want, err := all()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("%s belongs to no walk; run go generate ./tui/tours", e.Name())
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != text {
			t.Errorf("%s is stale; run go generate ./tui/tours", name)
		}
	}
}

// TestFiles: each file that a walk's command names is there.
func TestFiles(t *testing.T) {
	files, err := all()
	if err != nil {
		t.Fatal(err)
	}
	walks, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i := range walks {
		for j := range walks[i].Stops {
			a := walks[i].Stops[j].Act
			if a == nil || a.Manifest == "" {
				continue
			}
			if file := walks[i].File(j); files[file] != a.Manifest {
				t.Errorf("%s, stop %d: %s is not its manifest", walks[i].Name, j+1, file)
			}
		}
	}
}

// TestWords: both languages have the same words.
func TestWords(t *testing.T) {
	for w := range english {
		if chinese[w] == "" {
			t.Errorf("Chinese has no word for %q", w)
		}
	}
	if len(english) != len(chinese) {
		t.Errorf("%d words in English, %d in Chinese", len(english), len(chinese))
	}
}

// TestLinks: each link leads to a page that is there, and to a heading of the
// page of steps.
func TestLinks(t *testing.T) {
	pages, err := all()
	if err != nil {
		t.Fatal(err)
	}
	steps, err := os.ReadFile("../../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := headingAnchors(string(steps))
	for name, text := range pages {
		for _, part := range strings.Split(text, "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			if anchor, ok := strings.CutPrefix(target, "../steps.md#"); ok {
				if !headings[anchor] {
					t.Errorf("%s: there is no heading %s on the page of steps", name, anchor)
				}
			} else if _, ok := pages[target]; !ok {
				t.Errorf("%s: there is no %s", name, target)
			}
		}
	}
}

// headingAnchors returns the anchors that a page's headings get.
func headingAnchors(page string) map[string]bool {
	out := map[string]bool{}
	used := map[string]int{}
	for _, line := range strings.Split(page, "\n") {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		a := strings.ToLower(strings.NewReplacer(".", "", " ", "-").Replace(title))
		if used[a]++; used[a] > 1 {
			a += "-" + string(rune('0'+used[a]-1))
		}
		out[a] = true
	}
	return out
}
