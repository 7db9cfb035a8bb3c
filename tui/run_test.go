package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/session"
)

// TestFarewell: the lines that stay in the terminal say what was wrong, what was recorded, and what was or was not
// let go.
func TestFarewell(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter", "r", "ctrl+u").write("x.podstep").press("enter")
	d.look()
	lines := d.m.farewell(&ending{released: []string{"default/web"}, err: errors.New("no answer")})
	for _, want := range []string{"default/web: podstep holds the pod before", "x.podstep", "default/web was held and goes on", "no answer"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
			t.Errorf("%q is not among %q", want, lines)
		}
	}
}

// TestEndingOnce: the person, a signal and a panic may all end the program. It lets go once, and the second one
// waits until that is done.
func TestEndingOnce(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	e := &ending{ledgers: []*session.Ledger{ledgerOf(d.m)}}
	e.release()
	e.release()
	d.called("continue u-web")
	if !slices.Equal(e.released, []string{"default/web"}) {
		t.Errorf("released %q", e.released)
	}
}
