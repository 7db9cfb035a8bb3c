package tui

import "testing"

// TestSelectedIsWatchedClosely: the pod that is selected is watched closely, whatever selects it; none is while the node is
// selected.
func TestSelectedIsWatchedClosely(t *testing.T) {
	c := newBusyCluster(t, Options{})
	seen := map[string]bool{}
	for _, key := range []string{"home", "down", "down", "up", "end", "home"} {
		c.press(key)
		if c.w.closely != c.m.selectedUID() {
			t.Errorf("after %s %q is watched closely, and %q is selected", key, c.w.closely, c.m.selectedUID())
		}
		seen[c.w.closely] = true
	}
	if len(seen) < 3 {
		t.Errorf("the keys select only %v", seen)
	}
	c.create()
	if c.w.closely != c.m.selectedUID() {
		t.Errorf("after news %q is watched closely, and %q is selected", c.w.closely, c.m.selectedUID())
	}
}

// TestHiddenWatchesNothing: of several nodes only the one that is shown has a pod that is watched closely.
func TestHiddenWatchesNothing(t *testing.T) {
	d := atNodes(t)
	closely := func(what, first, second string) {
		t.Helper()
		if a, b := d.worlds[0].closely, d.worlds[1].closely; a != first || b != second {
			t.Errorf("%s: %q and %q are watched closely, want %q and %q", what, a, b, first, second)
		}
	}
	d.press("down", "enter")
	d.live(0)
	closely("on the first node", web.Uid, "")
	d.press("ctrl+n")
	closely("on the list", "", "")
	d.live(0)
	closely("with news of a hidden node", "", "")
	d.press("down", "down", "enter")
	d.live(1)
	closely("on the second node", "", web.Uid)
	d.press("ctrl+n", "home", "down", "enter")
	closely("on the first node again", web.Uid, "")
}
