//go:build sim || node

package tui_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/podstep/podstep/docs/tours"
)

// TestTours walks every walk that this node allows to its end by keys alone, and
// takes away what it made. Nothing is left held or armed.
func TestTours(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		tour := &all[i]
		t.Run(tour.Name, func(t *testing.T) {
			if need := tour.Needs.Runtime; need != tours.Any && need != runtime {
				t.Skipf("it needs %s", need)
			}
			p := open(t, 200, 50, "--tour", tour.Name)
			p.Until("n begins")
			p.Press("n")
			for at := p.arrive(""); !strings.Contains(p.Screen(), "n ends the walk"); at = p.arrive(at) {
				if strings.Contains(p.Screen(), "a answers") {
					p.Press("a")
					p.UntilGone("a answers")
				}
				p.Press("n")
			}
			p.Press("n")
			p.UntilGone("n ends the walk")
			if strings.Contains(p.Screen(), "Delete what the walk made?") {
				p.Press("Right", "Enter")
				p.UntilGone("Delete what the walk made?")
			}
			p.nothingLeft()
			p.Press("q")
			p.Usable()
		})
	}
}

// arrive waits until a walk is at another stop than before, and is ready to go
// on. It returns where it is.
func (p *place) arrive(before string) string {
	p.t.Helper()
	at := ""
	p.UntilThat("the next stop after "+before, func(s string) bool {
		if strings.Contains(s, "n ends the walk") {
			return true
		}
		card := regexp.MustCompile(`Tour .*?(\d+/\d+)`).FindStringSubmatch(s)
		if card == nil || card[1] == before {
			return false
		}
		at = card[1]
		return strings.Contains(s, "n goes on") || strings.Contains(s, "n does it")
	})
	return at
}
