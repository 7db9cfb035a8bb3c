// Package compare shows on the screen how the stories of two pods differ, part by part: a list to choose the other
// pod from, and a page to read.
package compare

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Title is the name of the list and the page.
var Title = words.Text("Compare with another pod", "与另一个 Pod 比较")

// Others returns a list of the pods with which one can be compared. chosen is called with the pod that was chosen.
func Others(l words.Lang, one screen.PodKey, pods []screen.PodRow, chosen func(other screen.PodKey) tea.Cmd) *ask.Picker {
	var all []ask.Choice
	gone := map[string]int{} // pods that are there come first, also among pods of one name
	for _, r := range pods {
		if r.Key == one {
			continue
		}
		name := probes.Pod{Namespace: r.Namespace, Name: r.Name}.NamespacedName()
		if r.Mark == life.Gone {
			gone["pod."+r.UID] = 1
		}
		all = append(all, ask.Choice{ID: "pod." + r.UID, Text: name, Key: r.Word, Do: func() tea.Cmd { return chosen(r.Key) }})
	}
	slices.SortStableFunc(all, func(a, b ask.Choice) int { return cmp.Compare(gone[a.ID], gone[b.ID]) })
	return ask.NewPicker(screen.OverPalette, l.In(Title), "/", all)
}

// Stories compares a part of the stories of two pods. Compare returns nil if one of them is not known.
type Stories interface {
	Compare(a, b screen.PodKey, part compare.Part) *compare.Result
}

// Page is a comparison to read. A key switches the part that is compared.
type Page struct {
	ask.Page
	lang    words.Lang
	stories Stories
	a, b    screen.PodKey
	part    compare.Part
	result  *compare.Result
}

// NewPage returns a page that shows the comparison of the creation first; nil if one of the pods is not known.
func NewPage(l words.Lang, s Stories, a, b screen.PodKey) *Page {
	p := &Page{lang: l, stories: s, a: a, b: b}
	if p.show(compare.Creation); p.result == nil {
		return nil
	}
	return p
}

// show compares a part.
func (p *Page) show(part compare.Part) {
	r := p.stories.Compare(p.a, p.b, part)
	if r == nil {
		return
	}
	a, b := r.Names()
	p.part, p.result = part, r
	p.Page = ask.Page{Title: p.lang.Inf(words.Text("%s and %s compared: %s", "%s 与 %s 的比较：%s"), a, b, part.Text(p.lang))}
}

// Key takes a key.
func (p *Page) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	if k.String() == "tab" && !p.Typing() {
		p.show(p.part.Next())
		return nil, false
	}
	return p.Page.Key(k)
}

// Overlay returns the visible part of the page. The table is as wide as there is room.
func (p *Page) Overlay(s *view.Styles) *screen.Overlay {
	p.Lines = p.lines(s)
	o := p.Page.Overlay(s)
	o.Hints = []screen.Hint{{Key: "Tab", Text: p.part.Next().Text(p.lang)}}
	return o
}

// mostLines bounds how many lines of each kind are listed.
const mostLines = 40

func (p *Page) lines(s *view.Styles) (out []string) {
	out = append(out, p.result.Verdict(p.lang)+p.lang.In(words.Text(".", "。")))
	if !p.result.Begun() {
		return out
	}
	out = append(out, p.result.Parting(p.lang), "")
	slow, fast, axis := view.CompareBars(s)
	for _, row := range p.result.Table(p.lang, compare.Look{Width: view.OverPageWidth(s), Most: mostLines, Slow: slow, Fast: fast, Axis: axis}) {
		out = append(out, row.Text)
	}
	return out
}
