package tui

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

// choice is one line of a picker.
type choice struct {
	// id is the action's, the pod's, the step's.
	id    string
	group string
	text  string
	// also is searched too, and not shown.
	also string
	key  string
	// off is why it cannot be chosen.
	off string
	do  func(*Model) tea.Cmd
}

// picker is a list to choose from by typing a part of what is wanted: the
// palette, the help page, the list of walks.
type picker struct {
	kind   screen.OverlayKind
	title  string
	prompt string
	all    []choice
	// byKey finds lines by their key, too.
	byKey bool

	line   line
	found  []match
	cursor int
	from   int
	rows   int
	err    string
}

// match is a choice that what was typed is found in.
type match struct {
	*choice
	at []int // in text, in runes
}

func newPicker(kind screen.OverlayKind, title, prompt string, all []choice) *picker {
	p := &picker{kind: kind, title: title, prompt: prompt, all: all}
	p.search()
	return p
}

// source is what fuzzy finds in.
type source []choice

func (s source) Len() int            { return len(s) }
func (s source) String(i int) string { return s[i].text + " " + s[i].also }

func (p *picker) search() {
	p.found, p.cursor, p.from, p.err = nil, 0, 0, ""
	typed := strings.TrimSpace(p.line.String())
	if typed == "" {
		for i := range p.all {
			p.found = append(p.found, match{choice: &p.all[i]})
		}
		return
	}
	seen := map[*choice]bool{}
	add := func(c *choice, at []int) {
		if !seen[c] {
			seen[c] = true
			p.found = append(p.found, match{c, at})
		}
	}
	if p.byKey {
		for i := range p.all {
			for _, k := range strings.Fields(p.all[i].key) {
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
		add(c, runesAt(c.text, f.MatchedIndexes))
	}
}

// together ranks a line by how what was typed is in it: as all of it, at its
// beginning, somewhere, or scattered.
func (p *picker) together(i int, typed string) int {
	line, typed := strings.ToLower(p.all[i].text), strings.ToLower(typed)
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

func (p *picker) key(m *Model, k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "up", "ctrl+p":
		p.move(-1)
	case "down", "ctrl+n", "tab":
		p.move(1)
	case "shift+tab":
		p.move(-1)
	case "pgup":
		p.move(-p.rows)
	case "pgdown":
		p.move(p.rows)
	case "enter":
		return p.choose(m, p.cursor)
	case "esc":
		return nil, true
	default:
		if p.line.edit(k) {
			p.search()
		}
	}
	return nil, false
}

func (p *picker) paste(m *Model, s string) {
	p.line.insert(s)
	p.search()
}

func (p *picker) move(by int) {
	p.cursor, p.err = max(0, min(p.cursor+by, len(p.found)-1)), ""
}

// choose does what a line stands for. One that cannot be chosen says why, and
// the list stays.
func (p *picker) choose(m *Model, i int) (tea.Cmd, bool) {
	if !inRange(i, len(p.found)) {
		return nil, false
	}
	p.cursor = i
	c := p.found[i].choice
	if c.off != "" {
		p.err = c.off
		return nil, false
	}
	// The layer goes first: what is chosen may bring one of its own.
	m.drop(m.top())
	return c.do(m), false
}

func (p *picker) overlay(m *Model) *screen.Overlay {
	rows := view.OverRows(p.kind, m.frame.styles)
	p.rows = rows
	p.from = max(min(p.from, p.cursor), p.cursor-rows+1, 0)
	o := &screen.Overlay{
		Kind: p.kind, Title: p.title, Top: p.from, Total: len(p.found), Cursor: p.cursor - p.from,
		Input: &screen.Input{Prompt: p.prompt, Text: p.line.String(), Cursor: p.line.at, Error: p.err},
	}
	for _, f := range p.found[p.from:min(len(p.found), p.from+rows)] {
		o.Items = append(o.Items, screen.Item{Group: f.group, Text: f.text, Key: f.choice.key, Off: f.off, Match: f.at})
	}
	return o
}

// item is a click on a line.
func (p *picker) item(m *Model, row int) (tea.Cmd, bool) { return p.choose(m, p.from+row) }
