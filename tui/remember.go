package tui

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/settings"
)

// remembered is what the screen keeps in StateFile from one run to the next. If the file cannot be read or written,
// the screen does without it.
type remembered struct {
	// Walks are the guided walks that were finished, by name.
	Walks []string `json:"walks,omitempty"`
}

// StateFile returns the file in which the screen remembers: in XDG_STATE_HOME, or in the default of that; empty if
// there is no home.
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

// maxState bounds the bytes of the file, which other programs can write as well.
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

func (r remembered) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return settings.Replace(path, append(text, '\n'))
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
			_ = r.write(path) // on an error the first walk is only offered again
		}
		return nil
	}
}

// walked reports whether any walk was ever finished.
func (m *Model) walked() bool {
	return m.opts.StateFile != "" && len(recall(m.opts.StateFile).Walks) > 0
}

// keeper writes the bookmarks of one recording, whenever they change.
type keeper struct {
	recording string // the path of its file
	file      string // the file with the bookmarks
	// missing are the bookmarks whose events the recording does not have. It may be a part of the recording in which
	// they were set.
	missing []marks.Kept

	mu  sync.Mutex
	all []marks.Kept
}

// newKeeper finds the file for the bookmarks of a recording with an identity. It does not read that file.
func newKeeper(stateFile, recording, id string) *keeper {
	return &keeper{recording: absolute(recording), file: filepath.Join(filepath.Dir(stateFile), "bookmarks", id+".json")}
}

// read returns the bookmarks that are kept. There may be none.
func (k *keeper) read() ([]marks.Kept, error) {
	info, err := os.Stat(k.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > marks.MaxFile:
		return nil, reason.Errorf("%s is no file of bookmarks", "%s 不是书签文件", k.file)
	}
	text, err := os.ReadFile(k.file)
	if err != nil {
		return nil, err
	}
	all, err := marks.Decode(text)
	if err != nil {
		return nil, reason.Errorf("%s: %v", "%s：%v", k.file, reason.Error(err))
	}
	return all, nil
}

// set replaces the bookmarks. It does not write them.
func (k *keeper) set(all []marks.Kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = all
}

// write writes the present bookmarks into the file. So if two writes overlap, the file ends with the latest
// bookmarks, whichever write comes first. With no bookmarks there is no file.
func (k *keeper) write() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.put()
	if err != nil {
		return reason.Errorf("keep the bookmarks in %s: %v", "无法把书签保存到 %s：%v", k.file, reason.Error(err))
	}
	return nil
}

func (k *keeper) put() error {
	if len(k.all) == 0 {
		if err := os.Remove(k.file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := marks.Encode(k.recording, k.all)
	if err != nil {
		return err
	}
	return settings.Replace(k.file, text)
}

// bookmarksMsg brings the bookmarks that were kept with the recording that is replayed.
type bookmarksMsg struct {
	keeper *keeper
	all    []marks.Kept
	err    error
}

// readBookmarks reads the bookmarks that were kept with the recording, once all of it has been read.
func (m *Model) readBookmarks() tea.Cmd {
	state, file := m.opts.StateFile, m.session.File()
	if file == "" || state == "" || m.sought {
		return nil
	}
	m.sought = true
	from := m.session
	return func() tea.Msg {
		id, err := session.IdentityOf(from)
		if err != nil {
			return bookmarksMsg{err: err}
		}
		k := newKeeper(state, file, id)
		all, err := k.read()
		return bookmarksMsg{k, all, err}
	}
}

// takeBookmarks sets the bookmarks that were kept, and starts to keep those that are set from now on. It leaves a
// file that cannot be read as it is.
func (m *Model) takeBookmarks(msg bookmarksMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(reason.Errorf("the bookmarks of this recording cannot be read, and those that are set now are not kept: %v",
			"无法读取此录制的书签，现在设置的书签也不会保存：%v", reason.Error(msg.err)))
		return nil
	}
	m.keeper = msg.keeper
	own := m.places.Len() > 0 // set before the file was read
	m.keeper.missing = m.places.Restore(msg.all, m.state.PositionsOf(marks.Seqs(msg.all)))
	switch n, missing := m.places.Len(), len(m.keeper.missing); {
	case missing > 0:
		m.notice(m.textf(words.Text("bookmarks: %d; of %d more this file does not have the events", "书签：%d 个；另有 %d 个书签的事件不在此文件中"), n, missing))
	case n > 0:
		m.notice(m.textf(words.Text("bookmarks: %d; {key:place.next} goes to the next", "书签：%d 个；按 {key:place.next} 前往下一个"), n))
	}
	if own {
		return m.keepBookmarks()
	}
	return nil
}

// keeps reports whether the bookmarks outlast the program. They do if they belong to a recording and there is a
// place to keep them.
func (m *Model) keeps() bool {
	reading := m.session.File() != "" && m.opts.StateFile != "" && !m.caughtUp
	return m.keeper != nil || m.record != nil && m.opts.StateFile != "" || reading
}

// keepBookmarks keeps the bookmarks with the recording that is replayed, or with the one that is being made.
func (m *Model) keepBookmarks() tea.Cmd {
	all := m.places.Keep(m.state.SeqAt)
	if m.record != nil {
		m.record.places.Store(&all)
	}
	if m.keeper == nil {
		return nil
	}
	k := m.keeper
	k.set(append(all, k.missing...))
	return func() tea.Msg { return keptMsg{err: k.write()} }
}
