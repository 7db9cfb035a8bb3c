package view

import (
	"image/color"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
)

// Theme is a set of colours.
type Theme int

const (
	// Dark and Light are for terminals with a dark or a light background.
	Dark Theme = iota
	Light
	// HighContrast has no greys and no tints, and goes with any background.
	HighContrast
	// Deuteranopia uses blue, orange and brightness where the other themes use green and red. It is for dark and
	// light backgrounds.
	Deuteranopia
	// Terminal has only the sixteen colours of the terminal, as its user chose them.
	Terminal
	// Auto means that the background is not known yet. It is drawn as Dark.
	Auto
)

// Options say how to draw.
type Options struct {
	Width, Height int
	Theme         Theme
	// LightGround chooses the colours of themes that go with both backgrounds.
	LightGround bool
	Glyphs      Glyphs
	// NoColour leaves only bold, underline and reverse.
	NoColour bool
	// FewColours is for terminals with only sixteen colours. Tints would be loud there, so lines are lit as without
	// colour.
	FewColours bool
}

// flat reports whether there are no tints to lay under a line.
func (o Options) flat() bool {
	return o.NoColour || o.FewColours || o.Theme == HighContrast || o.Theme == Terminal
}

// Styles are the options made ready to draw with. Make them once for each
// change of the options; Draw only reads them.
type Styles struct {
	Options
	m    *marks
	inks []string // the sequence that switches each ink on
}

// NewStyles makes styles.
func NewStyles(o Options) *Styles {
	o.Width, o.Height = max(1, o.Width), max(1, o.Height)
	return &Styles{Options: o, m: &glyphSets[o.Glyphs], inks: inksOf(o)}
}

// painted keeps the inks of each look. They do not depend on the size, and a terminal that is being resized asks for
// them often.
var painted sync.Map

func inksOf(o Options) []string {
	look := Options{Theme: o.Theme, LightGround: o.LightGround, NoColour: o.NoColour, FewColours: o.FewColours}
	if inks, ok := painted.Load(look); ok {
		return inks.([]string)
	}
	inks := paint(look)
	painted.Store(look, inks)
	return inks
}

// ink is a role that text can have, and the ground that it stands on.
type ink uint16

const (
	inkPlain ink = iota
	inkStrong
	inkMuted  // less important than plain
	inkFaint  // to come, off, or decoration that is read
	inkLine   // decoration
	inkAccent // podstep's own: brand, links, things to press
	inkTitle  // of the pane that has the keys
	inkKey
	inkDone
	inkFailed
	inkFailedText
	inkWarn
	inkCurrent
	inkHeld
	inkHeldChip
	inkHeldText
	inkFailedChip
	inkAccentChip
	inkComment
	inkString
	inkKeyword
	inkField
	inkMatch
	inkCursor
	inkButton
	inkButtonOn
	inkButtonDanger
	inkBar
	inkBarCritical
	inkUnder // beneath a dialog
	inkRoles
)

// The grounds.
const (
	onNothing ink = iota * inkRoles
	onSelected
	onCurrent
	onHeld
	inkCount
)

func (k ink) role() ink { return k % inkRoles }

// on returns a role on a ground.
func (k ink) on(ground ink) ink { return k.role() + ground }

// palette has the colours of a theme. Colours with a meaning are the terminal's own, which its user has chosen; the
// others are accents.
type palette struct {
	red, yellow, green, cyan, magenta color.Color
	accent, muted, faint, line, under color.Color
	bar, comment, str, keyword, field color.Color
	selected, current, held, heldChip color.Color
	onChip, buttonGround, failedChip  color.Color
	accentChip, heldText              color.Color
}

var palettes = map[Theme]palette{
	Dark: {
		red: lipgloss.BrightRed, yellow: lipgloss.BrightYellow, green: lipgloss.Green,
		cyan: lipgloss.BrightCyan, magenta: lipgloss.BrightMagenta,
		accent: lipgloss.Color("#82aaff"), muted: lipgloss.Color("#a3acb9"),
		faint: lipgloss.Color("#7d8793"), line: lipgloss.Color("#444c58"), under: lipgloss.Color("#565e6b"),
		bar: lipgloss.Color("#4a5f86"), comment: lipgloss.Color("#7d8793"),
		str: lipgloss.Color("#b5cf9a"), keyword: lipgloss.Color("#c6a5e8"), field: lipgloss.Color("#8fc7d8"),
		selected: lipgloss.Color("#30343e"), current: lipgloss.Color("#123a40"), held: lipgloss.Color("#42203f"),
		heldChip: lipgloss.Color("#e58fe0"), heldText: lipgloss.Color("#f0b6ec"), onChip: lipgloss.Color("#15181e"),
		failedChip: lipgloss.Color("#f28b82"), accentChip: lipgloss.Color("#82aaff"),
		buttonGround: lipgloss.Color("#39414f"),
	},
	Light: {
		red: lipgloss.Red, yellow: lipgloss.Color("#8a5a00"), green: lipgloss.Color("#1a7f37"),
		cyan: lipgloss.Color("#00707f"), magenta: lipgloss.Magenta,
		accent: lipgloss.Color("#2456c7"), muted: lipgloss.Color("#4b5563"),
		faint: lipgloss.Color("#6b7480"), line: lipgloss.Color("#c3cad3"), under: lipgloss.Color("#a3abb6"),
		bar: lipgloss.Color("#a9bde3"), comment: lipgloss.Color("#6b7480"),
		str: lipgloss.Color("#2f6b1f"), keyword: lipgloss.Color("#7436ae"), field: lipgloss.Color("#0f6674"),
		selected: lipgloss.Color("#dfe7f5"), current: lipgloss.Color("#cdeef1"), held: lipgloss.Color("#f8dcf5"),
		heldChip: lipgloss.Color("#9b2393"), heldText: lipgloss.Color("#8a1f83"), onChip: lipgloss.Color("#ffffff"),
		failedChip: lipgloss.Color("#b3261e"), accentChip: lipgloss.Color("#2456c7"),
		buttonGround: lipgloss.Color("#e2e6ec"),
	},
	HighContrast: {
		red: lipgloss.Red, yellow: lipgloss.NoColor{}, green: lipgloss.NoColor{}, cyan: lipgloss.NoColor{},
		magenta: lipgloss.NoColor{}, accent: lipgloss.NoColor{}, muted: lipgloss.NoColor{},
		faint: lipgloss.NoColor{}, line: lipgloss.NoColor{}, bar: lipgloss.NoColor{},
		comment: lipgloss.NoColor{}, str: lipgloss.NoColor{}, keyword: lipgloss.NoColor{}, field: lipgloss.NoColor{},
	},
}

// few returns the palette with the sixteen colours.
func (p palette) few() palette {
	p.accent, p.bar, p.accentChip = lipgloss.Blue, lipgloss.Blue, lipgloss.Blue
	p.muted, p.str, p.buttonGround = lipgloss.NoColor{}, lipgloss.NoColor{}, lipgloss.BrightBlack
	p.faint, p.line, p.under, p.comment = lipgloss.BrightBlack, lipgloss.BrightBlack, lipgloss.BrightBlack, lipgloss.BrightBlack
	p.keyword, p.field = lipgloss.Magenta, lipgloss.Cyan
	p.yellow, p.green, p.cyan = lipgloss.Yellow, lipgloss.Green, lipgloss.Cyan
	p.heldChip, p.failedChip = p.magenta, p.red
	p.heldText, p.onChip = p.magenta, lipgloss.Black
	return p
}

// coloursOf returns the palette of a look, on its background.
func coloursOf(o Options) palette {
	p := palettes[Dark]
	switch {
	case o.Theme == Terminal && o.LightGround:
		p = palettes[Light]
	case o.Theme == Terminal, o.Theme == Auto:
	case o.Theme == Deuteranopia && o.LightGround:
		p = palettes[Light].deuteranope(blueOnLight)
	case o.Theme == Deuteranopia:
		p = p.deuteranope(blueOnDark)
	default:
		p = palettes[o.Theme]
	}
	if o.FewColours || o.Theme == Terminal {
		p = p.few()
	}
	return p
}

// meanings are the colours for failures, warnings, finished steps, steps under way, and holds.
type meanings struct{ failed, warn, done, current, held string }

// Colours that a person who does not see green can tell apart: blues and oranges of different brightness.
var (
	blueOnDark  = meanings{failed: "#ff8c1a", warn: "#fff3a0", done: "#3f8ae0", current: "#8cc8ff", held: "#f0c0d8"}
	blueOnLight = meanings{failed: "#c24a00", warn: "#5a4a00", done: "#0a66c8", current: "#00284d", held: "#9a6a86"}
)

// deuteranope returns the palette with other colours for its meanings.
func (p palette) deuteranope(m meanings) palette {
	p.red, p.yellow, p.green = lipgloss.Color(m.failed), lipgloss.Color(m.warn), lipgloss.Color(m.done)
	p.cyan, p.magenta = lipgloss.Color(m.current), lipgloss.Color(m.held)
	p.failedChip, p.heldChip, p.heldText = p.red, p.magenta, p.magenta
	p.str, p.keyword, p.field = p.accent, p.muted, p.cyan
	return p
}

// paint works out the sequence that switches each ink on.
func paint(o Options) []string {
	flat := o.flat()
	p := coloursOf(o)
	roles := coloured(p)
	switch {
	case o.NoColour:
		roles = plainRoles(lipgloss.NoColor{})
	case o.Theme == HighContrast:
		roles = plainRoles(p.red)
	}
	inks := make([]string, inkCount)
	for k := range inkCount {
		s, ground := roles[k.role()], k-k.role()
		if flat {
			s = litStyle(s, ground, roles[inkHeldChip])
		} else if _, plain := s.GetBackground().(lipgloss.NoColor); plain && ground != onNothing {
			s = s.Background(p.ground(ground))
		}
		inks[k] = start(s)
	}
	return inks
}

// reversed reports whether a ground is made by reversing.
func (st *Styles) reversed(ground ink) bool {
	return (ground == onSelected || ground == onHeld) && st.flat()
}

// ground returns the tint of a ground.
func (p palette) ground(ground ink) color.Color {
	switch ground {
	case onSelected:
		return p.selected
	case onCurrent:
		return p.current
	}
	return p.held
}

// litStyle returns a style on a ground that has no tint: reversed, underlined, or like the word of a hold.
func litStyle(s lipgloss.Style, ground ink, held lipgloss.Style) lipgloss.Style {
	switch ground {
	case onSelected:
		return lipgloss.NewStyle().Bold(s.GetBold()).Underline(s.GetUnderline()).Reverse(true)
	case onCurrent:
		return s.Bold(true).Underline(true)
	case onHeld:
		return held
	}
	return s
}

// start returns the sequence that a style puts before its text.
func start(s lipgloss.Style) string {
	before, _, _ := strings.Cut(s.Render("x"), "x")
	return before
}

func coloured(p palette) map[ink]lipgloss.Style {
	n := lipgloss.NewStyle()
	fg := n.Foreground
	chip := func(c color.Color) lipgloss.Style { return n.Background(c).Foreground(p.onChip).Bold(true) }
	return map[ink]lipgloss.Style{
		inkPlain: n, inkStrong: n.Bold(true), inkMuted: fg(p.muted), inkFaint: fg(p.faint), inkLine: fg(p.line),
		inkAccent: fg(p.accent), inkTitle: fg(p.accent).Bold(true), inkKey: fg(p.accent).Bold(true),
		inkDone: fg(p.green), inkFailed: fg(p.red).Bold(true), inkFailedText: fg(p.red), inkWarn: fg(p.yellow),
		inkCurrent: fg(p.cyan).Bold(true), inkHeld: fg(p.magenta).Bold(true),
		inkHeldChip: chip(p.heldChip), inkHeldText: fg(p.heldText),
		inkFailedChip: chip(p.failedChip), inkAccentChip: chip(p.accentChip),
		inkComment: fg(p.comment), inkString: fg(p.str), inkKeyword: fg(p.keyword), inkField: fg(p.field),
		inkMatch: fg(p.accent).Bold(true).Underline(true), inkCursor: n.Reverse(true),
		inkButton:   n.Background(p.buttonGround),
		inkButtonOn: chip(p.accentChip), inkButtonDanger: chip(p.failedChip),
		inkBar: fg(p.bar), inkBarCritical: fg(p.accent).Bold(true), inkUnder: fg(p.under),
	}
}

// plainRoles returns styles with only bold, underline and reverse, and one colour for errors.
func plainRoles(failed color.Color) map[ink]lipgloss.Style {
	n := lipgloss.NewStyle()
	bold, under, back := n.Bold(true), n.Underline(true), n.Bold(true).Reverse(true)
	return map[ink]lipgloss.Style{
		inkPlain: n, inkStrong: bold, inkMuted: n, inkFaint: n, inkLine: n,
		inkAccent: n, inkTitle: bold.Underline(true), inkKey: bold,
		inkDone: n, inkFailed: bold.Foreground(failed), inkFailedText: n.Foreground(failed), inkWarn: bold, inkCurrent: bold, inkHeld: bold,
		inkHeldChip: back, inkHeldText: bold, inkFailedChip: back, inkAccentChip: back,
		inkComment: n, inkString: n, inkKeyword: n, inkField: n,
		inkMatch: under, inkCursor: n.Reverse(true),
		inkButton: under, inkButtonOn: back, inkButtonDanger: back,
		inkBar: n, inkBarCritical: bold, inkUnder: n,
	}
}

// bare reports whether a blank in this ink shows nothing.
func (k ink) bare() bool {
	if k >= inkRoles {
		return false
	}
	switch k {
	case inkHeldChip, inkFailedChip, inkAccentChip, inkCursor, inkButton, inkButtonOn, inkButtonDanger, inkTitle, inkMatch:
		return false
	}
	return true
}
