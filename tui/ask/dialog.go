package ask

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Dialog asks a question that a button answers. The first button changes nothing, and is the chosen one at the
// start. Of two buttons, y presses the second and n the first.
type Dialog struct {
	Title   string
	Text    []string
	Buttons []string
	Danger  bool
	Chosen  int
	// Chose is called with the index of the button that was pressed, and with 0 for Esc.
	Chose func(button int) tea.Cmd
}

// Key takes a key.
func (d *Dialog) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "left", "h", "shift+tab", "up", "k":
		d.Chosen = (d.Chosen + len(d.Buttons) - 1) % len(d.Buttons)
	case "right", "l", "tab", "down", "j":
		d.Chosen = (d.Chosen + 1) % len(d.Buttons)
	case "enter", "space":
		return d.Chose(d.Chosen), true
	case "esc", "q":
		return d.Chose(0), true
	case "y", "Y", "n", "N":
		if len(d.Buttons) == 2 {
			return d.Chose(1 - strings.IndexAny("yn", strings.ToLower(k.String()))), true
		}
	}
	return nil, false
}

// Overlay returns the dialog as the screen shows it.
func (d *Dialog) Overlay(*view.Styles) *screen.Overlay {
	return &screen.Overlay{Kind: screen.OverDialog, Title: d.Title, Text: d.Text, Buttons: d.Buttons, Cursor: d.Chosen, Danger: d.Danger}
}

// Press takes a click on a button.
func (d *Dialog) Press(button int) (tea.Cmd, bool) {
	if button < 0 || button >= len(d.Buttons) {
		return nil, false
	}
	return d.Chose(button), true
}
