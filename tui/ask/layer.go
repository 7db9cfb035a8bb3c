// Package ask asks a person something: by dialogs, lists to choose from, pages to read, and the line that is typed
// at the foot of the screen. It knows keys and clicks, but no pods: a function of the caller gets the choice.
package ask

import (
	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Layer is something on top of the screen that has the keys: a dialog, a list to
// choose from, a page.
type Layer interface {
	// Key takes a key. done reports that the layer is to be taken away.
	Key(k tea.KeyPressMsg) (cmd tea.Cmd, done bool)
	// Overlay returns the layer as the screen shows it.
	Overlay(s *view.Styles) *screen.Overlay
}

// Interfaces of layers that take more than keys.
type (
	// Pastable takes text that is pasted.
	Pastable interface{ Paste(s string) }
	// Pressable takes a click on a button.
	Pressable interface {
		Press(button int) (cmd tea.Cmd, done bool)
	}
	// Itemised takes a click on a line.
	Itemised interface {
		Item(i int) (cmd tea.Cmd, done bool)
	}
	// Movable takes the wheel, which scrolls down by some lines.
	Movable interface{ Move(by int) }
)
