package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/screen"
)

// TestMarkedPods: keys that hold, step and let go act on the marked pods, all at
// once, and on no other; they say so. Esc takes the marks away.
func TestMarkedPods(t *testing.T) {
	c := newBusyCluster(t, Options{})
	c.m.state.SetFocus(screen.PanePods)
	asked := func(want ...string) {
		t.Helper()
		slices.Sort(c.w.calls)
		if !slices.Equal(c.w.calls, want) {
			t.Errorf("asked %q, want %q", c.w.calls, want)
		}
		c.w.calls = nil
	}
	c.press("g", "space", "j", "space").sees("marked pods: 2", "2 marked")
	c.press("G") // the node is selected: it is not meant
	c.press("s").sees("no marked pod is held").called()
	c.press("H").sees("Hold the marked pods? 2", "default/web-1, default/web-2").press("enter").called()
	c.press("H", "right", "enter")
	asked("hold web-1", "hold web-2")
	for _, p := range c.pods {
		c.hold(p)
	}
	c.poll()
	c.press("s")
	asked("step INTO ", "step INTO ")
	for _, p := range c.pods {
		c.hold(p)
	}
	c.poll()
	c.press("?").write("let this pod").sees("2 marked").press("esc")
	c.press("c")
	asked("continue u-1", "continue u-2")
	c.press("esc").seesNot("2 marked")
	c.press("s").called()
}

// TestBookmarks: they lead back, from wherever one is and whatever is closed.
func TestBookmarks(t *testing.T) {
	d := started(t)
	d.press(";").sees("there is no bookmark; ' sets one")
	d.press("p", "g", "j", "j", "'").sees("bookmark set")
	row := func() string {
		s := d.m.screen().Story()
		return s.Rows[s.Cursor].Label
	}
	want := row()
	if s := d.m.screen().Story(); !s.Rows[s.Cursor].Marked {
		t.Error("the row has no sign")
	}
	d.press("e", "G", "'").sees("§")
	d.press("p", "-", ";").sees("bookmark 1 of 2")
	if row() != want {
		t.Errorf("the bookmark leads to %q, not %q", row(), want)
	}
	d.press(";").sees("bookmark 2 of 2")
	if d.m.main() != screen.MainEvents || !d.m.screen().Events().Rows[d.m.screen().Events().Cursor].Marked {
		t.Error("the bookmark does not lead to the event")
	}
	d.press("'").sees("taken away").press("`").sees("bookmark 1 of 1")
	if strings.TrimSpace(row()) != want {
		t.Errorf("the one before is %q", row())
	}
}
