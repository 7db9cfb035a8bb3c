package tui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// remembered is what the screen knows from one time to the next, in StateFile. It
// is a comfort: where it cannot be read or written, the screen does without.
type remembered struct {
	// Walks are the guided walks that were finished, by name.
	Walks []string `json:"walks,omitempty"`
}

// StateFile is where the screen remembers, in XDG_STATE_HOME or where that is by
// default; empty if there is no home.
func StateFile(getenv func(string) string) string {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "podstep", "state.json")
}

// maxState bounds the file, which is others' to write as well.
const maxState = 64 << 10

func recall(path string) (r remembered) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxState {
		return r
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &r) != nil {
		return remembered{}
	}
	return r
}

// write puts the file in place as a whole: another podstep may read it.
func (r remembered) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "state")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// finishedWalk remembers that a walk was finished.
func (m *Model) finishedWalk(name string) tea.Cmd {
	path := m.opts.StateFile
	if path == "" {
		return nil
	}
	return func() tea.Msg {
		if r := recall(path); !slices.Contains(r.Walks, name) {
			r.Walks = append(r.Walks, name)
			_ = r.write(path) // then it is offered again, no more
		}
		return nil
	}
}

// walked reports whether any walk was ever finished here.
func (m *Model) walked() bool {
	return m.opts.StateFile != "" && len(recall(m.opts.StateFile).Walks) > 0
}
