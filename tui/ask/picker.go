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
	// ID is the action's, the pod's, the step's.
	ID    string
	Group string
	Text  string
	// Also is searched too, and not shown.
	Also string
	Key  string
	// Off is why it cannot be chosen.
	Off string
	Do  func() tea.Cmd
}

// Picker is a list to choose from by typing a part of what is wanted: the
// palette, the help page, the list of walks.
type Picker struct {
	kind   screen.OverlayKind
	title  string
	prompt string
	all    []Choice
	// ByKey finds lines by their key, too.
	ByKey bool

	line   Line
	found  []match
	cursor int
	from   int
	rows   int
	err    string
}

// match is a choice that what was typed is found in.
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

// source is what fuzzy finds in.
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
	// Letters that stand together are meant more often than scattered ones.
	slices.SortStableFunc(found, func(a, b fuzzy.Match) int {
		return cmp.Compare(p.together(a.Index, typed), p.together(b.Index, typed))
	})
	for _, f := range found {
		c := &p.all[f.Index]
		add(c, runesAt(c.Text, f.MatchedIndexes))
	}
	if p.kind == screen.OverHelp {
		p.bringTogether()
	}
}

// bringTogether puts those of a group together, the group of the best first: each
// group has a heading.
func (p *Picker) bringTogether() {
	order := map[string]int{}
	for _, f := range p.found {
		if _, is := order[f.Group]; !is {
			order[f.Group] = len(order)
		}
	}
	slices.SortStableFunc(p.found, func(a, b match) int { return cmp.Compare(order[a.Group], order[b.Group]) })
}

// together ranks a line by how what was typed is in it: as all of it, at its
// beginning, somewhere, or scattered.
func (p *Picker) together(i int, typed string) int {
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

// runesAt turns places in bytes of s into places in runes; what is behind s is
// left out.
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

// Paste takes typed text.
func (p *Picker) Paste(s string) {
	p.line.Insert(s)
	p.search()
}

// Move goes so many lines down.
func (p *Picker) Move(by int) {
	p.cursor, p.err = max(0, min(p.cursor+by, len(p.found)-1)), ""
}

// choose does what a line stands for. One that cannot be chosen says why, and
// the list stays.
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

// Overlay is what of the list fits.
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

// Item is a click on a line.
func (p *Picker) Item(row int) (tea.Cmd, bool) { return p.choose(p.from + row) }

// Found is what is listed now.
func (p *Picker) Found() []Choice {
	out := make([]Choice, len(p.found))
	for i, f := range p.found {
		out[i] = *f.Choice
	}
	return out
}
