package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/tui/screen"
)

// TestNodesHelp: the help of the list finds an action by what it does, and does it.
func TestNodesHelp(t *testing.T) {
	d := atNodes(t)
	d.press("?").sees("type to search", "One row up", "End podstep")
	d.press("g", "r", "o", "u", "p", "enter").sees("group by node") // it groups by namespace now
	d.press("?")
	d.send(tea.PasteMsg{Content: "language"})
	d.press("enter").sees("3 个节点")
	d.press("L", "?", "esc").sees("3 nodes, 3 pods;")
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 20, Height: 3}, {Width: 1, Height: 1}} {
		d.send(size)
		d.press("?")
		d.s.View()
		d.press("esc")
	}
	keys := map[string]bool{}
	for _, a := range d.s.actions {
		for _, k := range a.keys {
			if keys[k] {
				t.Errorf("two actions have the key %s", k)
			}
			keys[k] = true
		}
	}
}

// clickOn clicks at the first place of the screen that has a text.
func (d *nodesDesk) clickOn(text string) *nodesDesk {
	d.t.Helper()
	for y, line := range strings.Split(ansi.Strip(d.s.View().Content), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			d.send(tea.MouseClickMsg{X: ansi.StringWidth(before), Y: y, Button: tea.MouseLeft})
			return d
		}
	}
	d.t.Fatalf("%q is not on the screen", text)
	return d
}

// TestNodesMouse: a click selects a row, one more opens it; the footer and the help take clicks, the list the wheel.
func TestNodesMouse(t *testing.T) {
	d := atNodes(t)
	d.clickOn("node-2")
	if source, pod, ok := d.s.list.Selected(); !ok || source != 1 || pod != nil {
		t.Fatalf("selected is node %d, pod %v, %v", source, pod, ok)
	}
	d.clickOn("node-2")
	d.live(1)
	d.sees("node-2", "live").press("ctrl+n", "home")
	d.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if n := d.s.screen(); n.Cursor != wheelRows {
		t.Errorf("the wheel moved to row %d", n.Cursor)
	}
	d.clickOn("group by namespace").sees("group by node")
	d.clickOn("help").sees("type to search").clickOn("All rows again").sees("3 nodes, 3 pods;")
	if d.s.help != nil {
		t.Error("the help is still there")
	}
	d.press("M").sees("the mouse is off", "3 nodes")
	if mode := d.s.View().MouseMode; mode != tea.MouseModeNone {
		t.Errorf("the terminal still reports the mouse: %v", mode)
	}
	d.press("g", "home").clickOn("node-3")
	if source, _, _ := d.s.list.Selected(); source != 0 {
		t.Errorf("a click selected node %d while the mouse is off", source)
	}
	for _, h := range d.s.hints() {
		if h == (screen.Hint{}) || h.Text == "" {
			t.Errorf("a hint without words: %+v", h)
		}
	}
}
