package view

import (
	"cmp"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// mainPane draws a view, which is something that the main pane can show.
type mainPane struct {
	main screen.Main
	// place is where the view's name stands among the names of the views, from the left.
	place int
	name  probes.Text
	draw  func(*frame, Rect)
	// table: the view has a line of headings or times below its title, and wants more of the width than a list does.
	table bool
}

// mainPanes has all views, by place. Each is added in the file that draws it.
var mainPanes []*mainPane

func addMain(p mainPane) {
	mainPanes = append(mainPanes, &p)
	slices.SortFunc(mainPanes, func(a, b *mainPane) int { return cmp.Compare(a.place, b.place) })
}

// Mains returns all views, in the order of their names in the header.
func Mains() (out []screen.Main) {
	for _, p := range mainPanes {
		out = append(out, p.main)
	}
	return out
}

// mainOf returns what draws a view, or what draws the story if nothing draws that view.
func mainOf(m screen.Main) *mainPane {
	i := slices.IndexFunc(mainPanes, func(p *mainPane) bool { return p.main == m })
	return mainPanes[max(i, 0)]
}

func (f *frame) main(r Rect) {
	if r.empty() {
		return
	}
	f.zone(r, Target{Kind: OnPane, Pane: screen.PaneMain})
	mainOf(f.s.Main).draw(f, r)
}

// MainName returns the name of a view.
func MainName(m screen.Main) probes.Text { return mainOf(m).name }
