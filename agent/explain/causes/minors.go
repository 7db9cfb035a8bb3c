package causes

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/podstep/podstep/probes"
)

// Likeness is what a cited function is in a version of Kubernetes, held against the version in which it was read: by its code,
// without comments and layout.
type Likeness byte

// The likenesses, as the table of minor versions has them.
const (
	Same      Likeness = '='
	Different Likeness = '!'
	Absent    Likeness = '-' // the file or the directory has nothing of that name
)

// minorTable has the likenesses of cited functions.
type minorTable struct {
	versions []string // one for each minor version, the oldest first
	of       map[Citation]string
}

// minors is a part of the program: if it cannot be read, every test that asks for it fails.
var minors = sync.OnceValue(func() *minorTable {
	m, err := readMinors(files)
	if err != nil {
		panic(err.Error())
	}
	return m
})

// readMinors reads the table: versions in the first line, and a function with its likenesses in each other line.
func readMinors(from fs.FS) (*minorTable, error) {
	const name = "table/minors.txt"
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return nil, fmt.Errorf("read minor versions: %w", err)
	}
	m := &minorTable{of: map[Citation]string{}}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case m.versions == nil:
			m.versions = fields
		case len(fields) != 3 || len(fields[2]) != len(m.versions):
			return nil, fmt.Errorf("read %s: there is a line %q", name, line)
		default:
			m.of[Citation{fields[0], fields[1]}] = fields[2]
		}
	}
	return m, nil
}

// Versions returns the versions of Kubernetes that cited functions were compared in, one for each minor version.
func Versions() []string { return minors().versions }

// In returns what a cited function is in a version, or in the minor version that it belongs to; 0: not known.
func (of Citation) In(version string) Likeness {
	m := minors()
	i := slices.IndexFunc(m.versions, func(v string) bool { return minorOf(v) == minorOf(version) })
	if i < 0 || m.of[of] == "" {
		return 0
	}
	return Likeness(m.of[of][i])
}

var minorForm = regexp.MustCompile(`^v1\.\d+`)

// minorOf returns the minor version of a release, such as v1.36; empty: it is none.
func minorOf(version string) string { return minorForm.FindString(version) }

// ReadIn returns for which minor versions a cited function was read: "v1.36; the same in v1.35; different in v1.25 to v1.34".
func (of Citation) ReadIn() string {
	m, text := minors(), minorOf(probes.KubernetesVersion)
	for _, part := range []struct {
		is   Likeness
		text string
	}{{Same, "the same in"}, {Different, "different in"}, {Absent, "not there in"}} {
		if in := ranges(m.versions, m.of[of], part.is); in != "" {
			text += "; " + part.text + " " + in
		}
	}
	return text
}

// ranges returns the minor versions with a likeness, without the one that was read: "v1.25 to v1.33 and v1.37".
func ranges(versions []string, all string, is Likeness) string {
	read, parts := minorOf(probes.KubernetesVersion), []string{}
	for i := 0; i < len(all); i++ {
		var run []string
		for ; i < len(all) && Likeness(all[i]) == is; i++ {
			run = append(run, minorOf(versions[i]))
		}
		if len(run) > 0 && run[0] == read {
			run = run[1:]
		}
		if n := len(run); n > 0 && run[n-1] == read {
			run = run[:n-1]
		}
		if n := len(run); n > 2 {
			run = []string{run[0] + " to " + run[n-1]}
		}
		parts = append(parts, run...)
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}
