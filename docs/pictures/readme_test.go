package pictures

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestWellFormed reads every picture as a browser does.
func TestWellFormed(t *testing.T) {
	files, err := filepath.Glob("*.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no pictures: make pictures")
	}
	for _, file := range files {
		if err := wellFormed(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func wellFormed(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for d := xml.NewDecoder(f); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// named finds pictures in a page.
var named = regexp.MustCompile(`[\w./-]*pictures/[\w-]+\.svg`)

// TestNamed: every picture that a page names is there.
func TestNamed(t *testing.T) {
	const root = "../.."
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), name)); err != nil {
				t.Errorf("%s names a picture that is not there: %v", page, err)
			}
		}
	}
}
