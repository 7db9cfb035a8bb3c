package view

import (
	"cmp"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// mainPane draws a view: one of the things that the main pane can show.
type mainPane struct {
	main screen.Main
	// place is where its name stands among those of the others, from the left.
	place int
	name  probes.Text
	draw  func(*frame, Rect)
	// table: it has a line of headings or times below its title, and wants more of
	// the width than a list does.
	table bool
}

// mainPanes are those of all views, by place. Each puts itself into the list, in
// the file that draws it.
var mainPanes []*mainPane

func addMain(p mainPane) {
	mainPanes = append(mainPanes, &p)
	slices.SortFunc(mainPanes, func(a, b *mainPane) int { return cmp.Compare(a.place, b.place) })
}

// Mains are all views, in the order of their names in the header.
func Mains() (out []screen.Main) {
	for _, p := range mainPanes {
		out = append(out, p.main)
	}
	return out
}

// mainOf is what draws a view: of one that nobody draws, that of the story.
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

// MainName is what a view is called.
func MainName(m screen.Main) probes.Text { return mainOf(m).name }
