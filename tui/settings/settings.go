// Package settings is the file in which a person keeps how the screen is to be:
// theme, language, order and columns of the pods, keys. It is read once, and
// written when a choice is made on the screen; of a file that a person wrote only
// what was chosen is changed.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// The names of what can be set.
const (
	Theme    = "theme"
	Language = "language"
	Sort     = "sort"
	Columns  = "columns"
	keys     = "keys"
)

// File is the settings as they were read, and where they are kept. A nil one has no
// settings and keeps none.
type File struct {
	path string
	// unusable: what is there is no file of settings, and is left as it is.
	unusable bool

	values map[string]string
	lists  map[string][]string
	keys   []Key
	// Problems are what is wrong in the file, in the order of its lines.
	problems []Problem

	mu      sync.Mutex
	changed map[string]any
}

// Key is the keys that a person gave an action.
type Key struct {
	Action string
	Keys   []string
	Line   int
}

// Problem is something in the file that has no effect.
type Problem struct {
	Line int // from 1; 0: the file as a whole
	Text string
}

// Path is where the settings are: in XDG_CONFIG_HOME, or where that is by default;
// empty if there is no home.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "podstep", "config.yaml")
}

// maxSize bounds the file, which is others' to write.
const maxSize = 256 << 10

// Load reads the settings. What is wrong with them is among the problems; a file
// that is not there has none. An empty path keeps nothing.
func Load(path string) *File {
	f := &File{path: path, values: map[string]string{}, lists: map[string][]string{}, changed: map[string]any{}}
	if path == "" {
		return f
	}
	text, err := read(path)
	if err == nil {
		err = f.parse(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.unusable = true
		f.problem(0, "%v", err)
	}
	return f
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxSize:
		return nil, fmt.Errorf("it is larger than %d bytes", maxSize)
	}
	return os.ReadFile(path)
}

func (f *File) problem(line int, format string, args ...any) {
	f.problems = append(f.problems, Problem{line, fmt.Sprintf(format, args...)})
}

// Reject adds a problem that the reader of a setting has found.
func (f *File) Reject(line int, text string) { f.problem(line, "%s", text) }

// Get is the value of a setting, empty if it is not set.
func (f *File) Get(name string) string {
	if f == nil {
		return ""
	}
	return f.values[name]
}

// List is the values of a setting that has several; nil if it is not set.
func (f *File) List(name string) []string {
	if f == nil {
		return nil
	}
	return f.lists[name]
}

// Keys are the keys that were given to actions, in the order of the file.
func (f *File) Keys() []Key {
	if f == nil {
		return nil
	}
	return f.keys
}

// Problems are the sentences about what is wrong, each with its place.
func (f *File) Problems() (out []string) {
	if f == nil {
		return nil
	}
	for _, p := range f.problems {
		at := f.path
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		out = append(out, at+": "+p.Text)
	}
	return out
}

// Set changes a setting: a string, or a list of them. Keep writes it.
func (f *File) Set(name string, value any) {
	if f == nil || f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed[name] = value
}

// Keep writes what was changed into the file. What a person wrote there stays,
// comments as well.
func (f *File) Keep() error {
	if f == nil || f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 {
		return nil
	}
	if f.unusable {
		return fmt.Errorf("keep the choice in %s: it cannot be read as settings; put it right or remove it", f.path)
	}
	if err := change(f.path, f.changed); err != nil {
		return fmt.Errorf("keep the choice in %s: %w", f.path, err)
	}
	f.changed = map[string]any{}
	return nil
}
