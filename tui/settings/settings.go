// Package settings keeps a person's settings of the screen in a file: theme, language, order and columns of the
// pods, keys. The file is read once, and written when the person chooses something on the screen. Writing changes
// only what was chosen in the person's file.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// The names of what can be set.
const (
	Theme    = "theme"
	Language = "language"
	Sort     = "sort"
	Columns  = "columns"
	keys     = "keys"
)

// File has the settings as they were read, and knows where they are kept. A nil File has no settings and keeps none.
type File struct {
	path string
	// unusable: the path has something that is no file of settings. It is left as it is.
	unusable bool

	values map[string]string
	lists  map[string][]string
	keys   []Key
	// problems are the mistakes in the file, in the order of its lines.
	problems []Problem

	mu      sync.Mutex
	changed map[string]any
}

// Key has the keys that a person gave an action.
type Key struct {
	Action string
	Keys   []string
	Line   int
}

// Problem is something in the file that has no effect.
type Problem struct {
	Line int // from 1; 0: the file as a whole
	Text probes.Text
}

// Path returns the path of the settings: in XDG_CONFIG_HOME, or in the default of that; empty if there is no home.
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

// maxSize bounds the bytes of the file, which other programs can write.
const maxSize = 256 << 10

// Load reads the settings. A mistake in them becomes a problem; a missing file is none. With an empty path nothing
// is kept.
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
		f.Reject(0, reason.Error(err))
	}
	return f
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, reason.New("it is not a regular file", "它不是普通文件")
	case info.Size() > maxSize:
		return nil, reason.Errorf("it is larger than %d bytes", "它大于 %d 字节", maxSize)
	}
	return os.ReadFile(path)
}

func (f *File) problem(line int, format probes.Text, args ...any) {
	f.Reject(line, words.With(format, args...))
}

// Reject adds a problem that the user of a setting has found. Problems are in the order of their lines.
func (f *File) Reject(line int, text probes.Text) {
	f.problems = append(f.problems, Problem{line, text})
	slices.SortStableFunc(f.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// Get returns the value of a setting, empty if it is not set.
func (f *File) Get(name string) string {
	if f == nil {
		return ""
	}
	return f.values[name]
}

// List returns the values of a setting that has several; nil if it is not set.
func (f *File) List(name string) []string {
	if f == nil {
		return nil
	}
	return f.lists[name]
}

// Keys returns the keys that were given to actions, in the order of the file.
func (f *File) Keys() []Key {
	if f == nil {
		return nil
	}
	return f.keys
}

// Problems returns a sentence for each problem, with its place.
func (f *File) Problems(lang words.Lang) (out []string) {
	if f == nil {
		return nil
	}
	for _, p := range f.problems {
		at := f.path
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		out = append(out, at+": "+lang.In(p.Text))
	}
	return out
}

// Set changes a setting to a string, or a list of them. Keep writes it.
func (f *File) Set(name string, value any) {
	if f == nil || f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed[name] = value
}

// Keep writes the changed settings into the file. What the person wrote there stays, comments as well.
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
		return reason.Errorf("keep the choice in %s: it cannot be read as settings; put it right or remove it", "无法把选择保存到 %s：它不是可读的设置文件；请改正或删除它", f.path)
	}
	if err := change(f.path, f.changed); err != nil {
		return reason.Errorf("keep the choice in %s: %v", "无法把选择保存到 %s：%v", f.path, reason.Error(err))
	}
	f.changed = map[string]any{}
	return nil
}
