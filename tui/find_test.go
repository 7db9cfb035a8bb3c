package tui

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/screen"
)

// TestFind: a text is found, while it is typed, in the pane that has the keys. n and N go round, and Esc ends the
// search. Meanwhile n steps no pod.
func TestFind(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.press("p", "g")
	here := d.m.screen().Story().Cursor
	d.press("ctrl+f").write("sandbox")
	d.sees("find sandbox", `"sandbox" 1 of`)
	first := d.m.screen().Story()
	if !strings.Contains(strings.ToLower(first.Rows[first.Cursor].Label+first.Rows[first.Cursor].Step), "sandbox") {
		t.Fatalf("the row is %+v", first.Rows[first.Cursor])
	}
	d.press("enter", "n").called()
	d.press("N").called()
	if s := d.m.screen().Story(); s.Cursor != first.Cursor {
		t.Errorf("n and N lead to row %d, not %d", s.Cursor, first.Cursor)
	}
	d.press("esc").seesNot(`"sandbox"`)
	d.press("n").called("step OVER ")
	d.press("g", "ctrl+f").write("nowhere at all")
	d.sees("0 found")
	d.press("esc")
	if s := d.m.screen().Story(); s.Cursor != here {
		t.Errorf("what is nowhere has moved the cursor from %d to %d", here, s.Cursor)
	}
}

// TestFindInEveryPane: events, pods, causes and details are searched as rows, too.
func TestFindInEveryPane(t *testing.T) {
	d := started(t)
	d.press("e", "ctrl+f").write("update").sees(`"update" 1 of 1`).press("enter", "esc")
	if e := d.m.screen().Events(); e.Rows[e.Cursor].Event.Step != "sync.pod" {
		t.Errorf("the event is %+v", e.Rows[e.Cursor].Event)
	}
	d.m.state.SetFocus(screen.PanePods)
	d.press("ctrl+f").write("web").sees(`"web" 1 of 1`).press("enter", "esc")
	d.press("p", "tab")
	if d.m.screen().Focus != screen.PaneDetail {
		t.Fatal("the detail has not the keys")
	}
	d.press("ctrl+f").write("kubelet").sees(`"kubelet"`).press("enter", "esc")
	d.press("w", "ctrl+f").write("zzz").sees("0 found")
}

// TestOpenAll: all rows are opened by one key, and closed by another.
func TestOpenAll(t *testing.T) {
	d := started(t)
	d.press("p")
	usual := d.m.screen().Story().Total
	d.press("-")
	closed := d.m.screen().Story().Total
	d.press("=")
	open := d.m.screen().Story()
	if closed >= usual || open.Total < usual {
		t.Errorf("%d rows, all closed %d, all open %d", usual, closed, open.Total)
	}
	for _, r := range open.Rows {
		if r.Opens && (!r.Open || r.Hidden > 0) {
			t.Errorf("%q is not open", r.Label)
		}
	}
}

// TestSortPods: the list has the chosen order, and says how many of the pods the filter selects.
func TestSortPods(t *testing.T) {
	c := newBusyCluster(t, Options{})
	names := func() (out []string) {
		for _, r := range c.m.screen().Pods.Rows {
			out = append(out, r.Name)
		}
		return out
	}
	c.sees("worst first")
	c.press("A").sees("by name")
	byName := strings.Join(names(), " ")
	if !strings.HasPrefix(byName, "web-1 web-2 web-2") {
		t.Errorf("by name: %s", byName)
	}
	c.press("A").sees("newest first")
	if got := strings.Join(names(), " "); !strings.HasPrefix(got, "web-2") {
		t.Errorf("newest first: %s", got)
	}
	c.press("A").sees("most restarts first").press("A").sees("worst first")
	c.press("/").write("pod=web-1").press("enter").sees("Pods 1 of 3")
}
