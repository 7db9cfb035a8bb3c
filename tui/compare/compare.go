// Package compare shows on the screen how the creation of one pod differs from that of
// another: a list to choose the other from, and a page to read.
package compare

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Title is what the list and the page are called.
var Title = words.Text("Compare with another pod", "与另一个 Pod 比较")

// Others lists the pods with which one can be compared. chosen gets the other one.
func Others(l words.Lang, one screen.PodKey, pods []screen.PodRow, chosen func(other screen.PodKey) tea.Cmd) *ask.Picker {
	var all []ask.Choice
	for _, r := range pods {
		if r.Key == one {
			continue
		}
		name := probes.Pod{Namespace: r.Namespace, Name: r.Name}.NamespacedName()
		all = append(all, ask.Choice{ID: "pod." + r.UID, Text: name + "  " + r.Word, Do: func() tea.Cmd { return chosen(r.Key) }})
	}
	return ask.NewPicker(screen.OverPalette, l.In(Title), "/", all)
}

// Page is a comparison to read.
type Page struct {
	ask.Page
	lang   words.Lang
	result *compare.Result
}

// NewPage shows a comparison.
func NewPage(l words.Lang, r *compare.Result) *Page {
	a, b := r.Names()
	return &Page{Page: ask.Page{Title: l.Inf(words.Text("%s and %s compared", "%s 与 %s 的比较"), a, b)}, lang: l, result: r}
}

// Overlay is what of the page fits. The table is as wide as there is room.
func (p *Page) Overlay(s *view.Styles) *screen.Overlay {
	p.Lines = p.lines(view.OverPageWidth(s))
	return p.Page.Overlay(s)
}

// mostLines bounds what is listed of each kind.
const mostLines = 40

// Widths of the table: a side's column, and the least for what a line is about. With
// less room, what it is about stands in a line of its own.
const (
	sideWidth = 11
	moreWidth = 9
	whatLeast = 20
)

func (p *Page) lines(width int) (out []string) {
	out = append(out, p.result.Verdict(p.lang)+p.lang.In(words.Text(".", "。")), p.result.Parting(p.lang))
	a, b := p.result.Names()
	what := width - 2*sideWidth - moreWidth - 3
	row := func(of, x, y, more string) string {
		if what < whatLeast {
			values := strings.TrimSpace(compare.Cell(x, sideWidth) + " " + compare.Cell(y, sideWidth) + " " + more)
			if values == "" {
				return of
			}
			return of + "\n  " + values
		}
		return strings.TrimRight(compare.Cell(of, what)+" "+compare.Cell(x, sideWidth)+" "+compare.Cell(y, sideWidth)+" "+more, " ")
	}
	for _, l := range p.result.Lines(p.lang, mostLines) {
		text := row(l.What, l.A, l.B, l.Other)
		switch {
		case l.Heading:
			out = append(out, "")
			text = row(l.What, a, b, "")
		case l.Marked:
			text = row("> "+strings.TrimSpace(l.What), l.A, l.B, l.Other)
		}
		out = append(out, strings.Split(text, "\n")...)
	}
	return out
}
