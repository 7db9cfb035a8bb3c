package ask

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Choice is one line of a picker.
type Choice struct {
	// ID is the name of an action or a step, or the number of a pod.
	ID    string
	Group string
	Text  string
	// Also is text that is searched but not shown.
	Also string
	Key  string
	// Off says why the line cannot be chosen.
	Off string
	Do  func() tea.Cmd
}

// Picker is a list in which a person finds a line by typing a part of it: the palette, the help page, the list of
// walks.
type Picker struct {
	kind   screen.OverlayKind
	title  string
	prompt string
	all    []Choice
	// ByKey lets the search find lines by their key, too.
	ByKey bool

	line   Line
	found  []match
	cursor int
	from   int
	rows   int
	err    string
}

// match is a choice that contains what was typed.
type match struct {
	*Choice
	at []int // in text, in runes
}

// NewPicker lists choices.
func NewPicker(kind screen.OverlayKind, title, prompt string, all []Choice) *Picker {
	p := &Picker{kind: kind, title: title, prompt: prompt, all: all}
	p.search()
	return p
}

// source is the list in which fuzzy searches.
type source []Choice

func (s source) Len() int            { return len(s) }
func (s source) String(i int) string { return s[i].Text + " " + s[i].Also }

func (p *Picker) search() {
	p.found, p.cursor, p.from, p.err = nil, 0, 0, ""
	typed := strings.TrimSpace(p.line.String())
	if typed == "" {
		for i := range p.all {
			p.found = append(p.found, match{Choice: &p.all[i]})
		}
		return
	}
	seen := map[*Choice]bool{}
	add := func(c *Choice, at []int) {
		if !seen[c] {
			seen[c] = true
			p.found = append(p.found, match{c, at})
		}
	}
	if p.ByKey {
		for i := range p.all {
			for _, k := range strings.Fields(p.all[i].Key) {
				if k == typed || (len(typed) > 1 && strings.EqualFold(k, typed)) {
					add(&p.all[i], nil)
				}
			}
		}
	}
	found := fuzzy.FindFrom(typed, source(p.all))
	// People mean letters that stand together more often than scattered ones.
	slices.SortStableFunc(found, func(a, b fuzzy.Match) int {
		return cmp.Compare(p.rankMatch(a.Index, typed), p.rankMatch(b.Index, typed))
	})
	for _, f := range found {
		c := &p.all[f.Index]
		add(c, runesAt(c.Text, f.MatchedIndexes))
	}
	if p.kind == screen.OverHelp {
		p.bringTogether()
	}
}

// bringTogether puts the lines of a group together, the group of the best line first: each group has a heading.
func (p *Picker) bringTogether() {
	order := map[string]int{}
	for _, f := range p.found {
		if _, is := order[f.Group]; !is {
			order[f.Group] = len(order)
		}
	}
	slices.SortStableFunc(p.found, func(a, b match) int { return cmp.Compare(order[a.Group], order[b.Group]) })
}

// rankMatch ranks a line by how it contains what was typed: as the whole line, at its beginning, somewhere, or
// scattered.
func (p *Picker) rankMatch(i int, typed string) int {
	line, typed := strings.ToLower(p.all[i].Text), strings.ToLower(typed)
	switch {
	case line == typed:
		return 0
	case strings.HasPrefix(line, typed):
		return 1
	case strings.Contains(line, typed):
		return 2
	}
	return 3
}

// runesAt turns places in bytes of s into places in runes. It leaves out places behind the end of s.
func runesAt(s string, bytes []int) (at []int) {
	for _, b := range bytes {
		if b < len(s) {
			at = append(at, utf8.RuneCountInString(s[:b]))
		}
	}
	return at
}

// Key takes a key.
func (p *Picker) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "up", "ctrl+p":
		p.Move(-1)
	case "down", "ctrl+n", "tab":
		p.Move(1)
	case "shift+tab":
		p.Move(-1)
	case "pgup":
		p.Move(-p.rows)
	case "pgdown":
		p.Move(p.rows)
	case "enter":
		return p.choose(p.cursor)
	case "esc":
		return nil, true
	default:
		if p.line.Edit(k) {
			p.search()
		}
	}
	return nil, false
}

// Paste takes text that is pasted.
func (p *Picker) Paste(s string) {
	p.line.Insert(s)
	p.search()
}

// Move moves the cursor down by some lines.
func (p *Picker) Move(by int) {
	p.cursor, p.err = max(0, min(p.cursor+by, len(p.found)-1)), ""
}

// choose runs the action of a line. If the line cannot be chosen, the list stays and shows why.
func (p *Picker) choose(i int) (tea.Cmd, bool) {
	if i < 0 || i >= len(p.found) {
		return nil, false
	}
	p.cursor = i
	c := p.found[i].Choice
	if c.Off != "" {
		p.err = c.Off
		return nil, false
	}
	return c.Do(), true
}

// Overlay returns the visible part of the list.
func (p *Picker) Overlay(s *view.Styles) *screen.Overlay {
	rows := view.OverRows(p.kind, s)
	p.rows = rows
	p.from = max(min(p.from, p.cursor), p.cursor-rows+1, 0)
	o := &screen.Overlay{
		Kind: p.kind, Title: p.title, Top: p.from, Total: len(p.found), Cursor: p.cursor - p.from,
		Input: &screen.Input{Prompt: p.prompt, Text: p.line.String(), Cursor: p.line.at, Error: p.err},
	}
	for _, f := range p.found[p.from:min(len(p.found), p.from+rows)] {
		o.Items = append(o.Items, screen.Item{Group: f.Group, Text: f.Text, Key: f.Key, Off: f.Off, Match: f.at})
	}
	return o
}

// Item takes a click on a line.
func (p *Picker) Item(row int) (tea.Cmd, bool) { return p.choose(p.from + row) }

// Found returns the choices that are listed now.
func (p *Picker) Found() []Choice {
	out := make([]Choice, len(p.found))
	for i, f := range p.found {
		out[i] = *f.Choice
	}
	return out
}
