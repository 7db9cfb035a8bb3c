package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// point finds a place on the screen at which a target is.
func (d *desk) point(what string, is func(view.Target) bool) (x, y int) {
	d.t.Helper()
	d.look()
	for y := range d.m.frame.options.Height {
		for x := range d.m.frame.options.Width {
			if t, ok := view.Hit(d.m.screen(), d.m.frame.styles, x, y); ok && is(t) {
				return x, y
			}
		}
	}
	d.t.Fatalf("the mouse finds no %s on\n%s", what, d.look())
	return 0, 0
}

func (d *desk) click(what string, is func(view.Target) bool) {
	d.t.Helper()
	x, y := d.point(what, is)
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	d.send(tea.MouseReleaseMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func TestMouse(t *testing.T) {
	w := newWorld()
	d := newDesk(t, w, Options{})
	d.m.offered = true
	d.live(w.creation(web), w.creation(hello))
	d.click("second pod", func(t view.Target) bool { return t.Kind == view.OnPod && t.Pod == screen.PodKey(hello.Id) })
	if pod, ok := d.m.selected(); !ok || pod.Name != "hello" {
		t.Errorf("a click on a pod selects %v", pod)
	}
	d.click("name of the timeline", func(t view.Target) bool { return t.Kind == view.OnMain && t.Main == screen.MainTimeline })
	if d.m.main() != screen.MainTimeline {
		t.Error("a click on a view's name does not lead there")
	}
	d.press("p")
	d.click("hint of hold", func(t view.Target) bool { return t.Kind == view.OnHint && t.ID == "H" })
	d.sees("Hold default/hello?")
	d.click("button Hold", func(t view.Target) bool { return t.Kind == view.OnButton && t.Index == 1 })
	d.called("hold hello")
	d.press(":")
	d.click("line of the palette", func(t view.Target) bool { return t.Kind == view.OnItem && t.Index == 1 })
	if d.m.top() != nil {
		t.Error("a click on a line of the palette does not choose it")
	}
}

func TestMouseDragsTheDivider(t *testing.T) {
	d := started(t)
	x, y := d.point("divider", func(t view.Target) bool { return t.Kind == view.OnDivider })
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	d.send(tea.MouseMotionMsg{X: x + 12, Y: y, Button: tea.MouseLeft})
	d.send(tea.MouseReleaseMsg{X: x + 12, Y: y, Button: tea.MouseLeft})
	d.send(tea.MouseMotionMsg{X: x, Y: y})
	if now, _ := d.point("divider", func(t view.Target) bool { return t.Kind == view.OnDivider }); now < x+10 || now > x+14 {
		t.Errorf("the divider was dragged from %d to %d and is at %d", x, x+12, now)
	}
}

func TestMouseOff(t *testing.T) {
	d := started(t)
	if d.m.View().MouseMode == tea.MouseModeNone {
		t.Error("the mouse is off from the beginning")
	}
	d.press("M").sees("the mouse is off")
	if d.m.View().MouseMode != tea.MouseModeNone {
		t.Error("M leaves the mouse on")
	}
}
