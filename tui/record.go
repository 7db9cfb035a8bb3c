package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/session"
)

// recording is a file that is being written.
type recording struct {
	path string
	stop context.CancelFunc
	// ended is closed when the file is complete and the bookmarks are kept with it.
	ended chan struct{}
	// places are the bookmarks at events that the file may have.
	places atomic.Pointer[[]marks.Kept]
}

// recordMsg reports that a recording has ended.
type recordMsg struct {
	of     *recording
	events int
	err    error
	// lost says why the bookmarks are not kept with the file.
	lost error
}

// toggleRecord asks for a file to record to, or ends the recording.
func (m *Model) toggleRecord() tea.Cmd {
	if m.record != nil {
		m.record.stop()
		return nil
	}
	name := "podstep-" + m.clock.now().Format("20060102-150405") + ".podstep"
	m.input = ask.NewInput(m.text(words.Text("record to file", "录制到文件")), name, nil, func(path string) (tea.Cmd, error) {
		if path == "" {
			return nil, errors.New(m.text(words.Text("name a file", "请输入文件名")))
		}
		return m.startRecord(path), nil
	})
	return nil
}

func (m *Model) startRecord(path string) tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	r := &recording{path: path, stop: stop, ended: make(chan struct{})}
	m.record = r
	m.keepBookmarks()
	control, state := m.control, m.opts.StateFile
	return func() tea.Msg {
		defer close(r.ended)
		defer stop()
		events, err := control.Record(ctx, path)
		var lost error
		if err == nil && state != "" {
			lost = r.keepPlaces(state)
		}
		return recordMsg{r, events, err, lost}
	}
}

// keepPlaces keeps the bookmarks that were set on the screen, for the recording.
func (r *recording) keepPlaces(stateFile string) error {
	all := *r.places.Load()
	if len(all) == 0 {
		return nil
	}
	id, err := session.Identity(r.path)
	if err != nil {
		return err
	}
	k := newKeeper(stateFile, r.path, id)
	k.set(all)
	return k.write()
}

func (m *Model) takeRecord(msg recordMsg) {
	if m.record == msg.of {
		m.record = nil
	}
	if msg.err != nil {
		m.fail(fmt.Errorf("%s: %w", m.textf(words.Text("recording to %s ended", "录制到 %s 已结束"), msg.of.path), msg.err))
		return
	}
	m.recorded = append(m.recorded, absolute(msg.of.path))
	if msg.lost != nil {
		m.fail(msg.lost)
		return
	}
	m.notice(m.textf(words.Text("%d events recorded to %s", "已录制 %d 个事件到 %s"), msg.events, msg.of.path))
}

// absolute returns a path that is also right in another directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
