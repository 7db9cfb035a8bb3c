package view

import "github.com/podstep/podstep/tui/screen"

// Arrangement has all that the layout depends on besides the size.
type Arrangement struct {
	Main  screen.Main
	Focus screen.Pane
	Zoom  bool
	// Split is the share of the pod list in the width, in percent. Zero: the share depends on the size.
	Split              int
	HasDetail, HasHold bool
	// Tour returns how many lines the card of a tour wants in a width. It is nil if there is no card.
	Tour func(width int) int
}

// ArrangementOf returns the arrangement of a screen.
func ArrangementOf(s *screen.Screen) Arrangement {
	a := Arrangement{
		Main: s.Main, Focus: s.Focus, Zoom: s.Zoom, Split: s.Split,
		HasDetail: s.Detail != nil, HasHold: s.Hold != nil,
	}
	if s.Tour != nil {
		a.Tour = func(w int) int { return tourLines(s, w) }
	}
	return a
}

// Layout has the parts of the screen. A part that is empty is not drawn.
type Layout struct {
	// Tiny is set where there is room for a line of counts only.
	Tiny                                bool
	Header, Crumbs, Hold                Rect
	Pods, Main, Detail, Tour, Why, Foot Rect
	// TourRule is the rule above the card of a tour. It shows the progress.
	TourRule Rect
	// Gap is set if titles have room for a blank line below them.
	Gap bool
	// Rules are the thin lines between the parts, one cell thick.
	Rules []Rect
	// Divider is the rule that the mouse can drag to change the split.
	Divider Rect
}

// The sizes from which on a screen has room for more parts.
const (
	tinyWidth, tinyHeight = 40, 10
	twoWidth              = 80
	whyHeight             = 18     // for a second line of the reason
	tallWidth, tallHeight = 60, 26 // pods above the pipeline
	wideWidth, wideHeight = 160, 24
	detailHeight          = 22 // of the panes, for a detail below
	gapHeight             = 30
	crumbsHeight          = 28
)

// Arrange divides the screen.
func Arrange(width, height int, a Arrangement) Layout {
	all := Rect{0, 0, width, height}
	if width < tinyWidth || height < tinyHeight {
		return tiny(all, a)
	}
	l := Layout{Gap: height >= gapHeight}
	body := l.frame(all, a)
	if a.Tour != nil && !tourAtSide(body, a) {
		body = l.tourBelow(body, a)
	}
	l.panes(body, a)
	return l
}

func tiny(all Rect, a Arrangement) Layout {
	l := Layout{Tiny: true, Header: all.line(0)}
	rest := all.inset(0, 1, 0, 0)
	if a.HasHold && rest.H > 0 {
		l.Hold = rest.line(0)
		rest = rest.inset(0, 1, 0, 0)
	}
	l.Why = rest
	return l
}

// frame lays out the parts around the panes, and returns the room for the panes.
func (l *Layout) frame(all Rect, a Arrangement) Rect {
	body := all
	top := func() Rect { r := body.line(0); body = body.inset(0, 1, 0, 0); return r }
	bottom := func(n int) Rect { body.H -= n; return Rect{body.X, body.bottom(), body.W, n} }

	l.Header = top()
	if all.H >= crumbsHeight {
		l.Crumbs = top()
	}
	switch {
	case a.HasHold:
		l.Hold = top()
	case all.H >= 14:
		l.Rules = append(l.Rules, top())
	}
	l.Foot = bottom(1)
	why := 1
	if all.H >= whyHeight && all.W < wideWidth {
		why = 2
	}
	l.Why = bottom(why)
	if all.H >= 20 {
		l.Rules = append(l.Rules, bottom(1))
	}
	return body
}

// tourAtSide reports whether the card has a place next to the pipeline.
func tourAtSide(body Rect, a Arrangement) bool {
	return !a.Zoom && body.W >= 120 && body.H >= detailHeight-2
}

func (l *Layout) tourBelow(body Rect, a Arrangement) Rect {
	n := body.H - 3 // a title and two rows are left
	if body.H >= 12 {
		n = min(a.Tour(body.W), max(n-4, body.H/2)-1)
	}
	body.H -= n
	l.Tour = Rect{body.X, body.bottom(), body.W, n}
	if body.H >= 8 {
		body.H--
		l.TourRule = Rect{body.X, body.bottom(), body.W, 1}
		l.Rules = append(l.Rules, l.TourRule)
	}
	return body
}

// panes divides the room between the header and the why line.
func (l *Layout) panes(body Rect, a Arrangement) {
	wide := body.W >= wideWidth && body.H >= wideHeight-6
	switch {
	case a.Zoom:
		l.only(body, a)
	case wide && (a.HasDetail || a.Tour != nil):
		left, rest := l.columns(body, podsWidth(body.W, a.Split, 21, 32, 44), true)
		share := 52
		if mainOf(a.Main).table {
			share = 62 // charts and tables need more
		}
		middle, right := l.columns(rest, rest.W*share/100, false)
		l.Pods, l.Main = left, middle
		l.right(right, a)
	case body.W >= twoWidth && body.H >= 6:
		left, right := l.columns(body, podsWidth(body.W, a.Split, 30, 28, 40), true)
		l.left(left, a)
		l.main(right, a)
	case body.W >= tallWidth && body.H >= tallHeight-6:
		pods, rest := l.rows(body, max(6, body.H*30/100))
		l.Pods = pods
		l.main(rest, a)
	default:
		l.only(body, a)
	}
}

// only gives all the room to the pane that has the keys.
func (l *Layout) only(body Rect, a Arrangement) {
	switch {
	case a.Focus == screen.PanePods:
		l.Pods = body
	case a.Focus == screen.PaneDetail && a.HasDetail:
		l.Detail = body
	default:
		l.Main = body
	}
}

// main divides the column of the pipeline. It puts the pipeline above the detail if there is room, else it shows the
// one that has the keys.
func (l *Layout) main(r Rect, a Arrangement) {
	switch {
	case a.HasDetail && r.H >= detailHeight:
		l.Main, l.Detail = l.rows(r, r.H*52/100)
	case a.HasDetail && a.Focus == screen.PaneDetail:
		l.Detail = r
	default:
		l.Main = r
	}
}

// left lays out the pods, above the card of a tour.
func (l *Layout) left(r Rect, a Arrangement) {
	l.Pods = r
	if a.Tour != nil && l.Tour.empty() {
		want := min(a.Tour(r.W), r.H-9)
		l.Pods, l.Tour = l.rows(r, r.H-want-1)
		l.TourRule = Rect{r.X, l.Pods.bottom(), r.W, 1}
	}
}

// right lays out the detail, below the card of a tour.
func (l *Layout) right(r Rect, a Arrangement) {
	switch {
	case a.Tour == nil || !l.Tour.empty():
		l.Detail = r
	case !a.HasDetail:
		l.Tour = r
	default:
		l.Tour, l.Detail = l.rows(r, min(a.Tour(r.W), r.H*60/100))
	}
}

// columns divides a part by a vertical rule.
func (l *Layout) columns(r Rect, left int, divider bool) (Rect, Rect) {
	rule := Rect{r.X + left, r.Y, 1, r.H}
	l.Rules = append(l.Rules, rule)
	if divider {
		l.Divider = rule
	}
	return Rect{r.X, r.Y, left, r.H}, Rect{rule.right(), r.Y, r.W - left - 1, r.H}
}

// rows divides a part by a horizontal rule.
func (l *Layout) rows(r Rect, top int) (Rect, Rect) {
	rule := Rect{r.X, r.Y + top, r.W, 1}
	l.Rules = append(l.Rules, rule)
	return Rect{r.X, r.Y, r.W, top}, Rect{r.X, rule.bottom(), r.W, r.H - top - 1}
}

// podsWidth returns the width of the pod list: the reader's share, or else percent of the width, within limits.
func podsWidth(all, split, percent, low, high int) int {
	if split > 0 {
		return min(max(20, all*split/100), all-42)
	}
	return min(max(low, all*percent/100), high)
}

// Sizes returns how many rows fit into the panes of a screen. The screen's lists may be empty; only its panes
// matter.
func Sizes(s *screen.Screen, st *Styles) screen.Sizes {
	a := ArrangementOf(s)
	l := Arrange(st.Width, st.Height, a)
	main := l.Main
	if main.empty() { // behind the detail, or zoomed away
		main = Rect{0, 0, st.Width, st.Height - 6}
	}
	rows := func(r Rect, head int) int { return max(1, r.H-head) }
	head := l.titleHeight(main)
	if mainOf(a.Main).table {
		head = 2 // the title, and the names of the columns or the times
	}
	return screen.Sizes{
		Pods: rows(l.Pods, l.titleHeight(l.Pods)), Main: rows(main, head), Detail: rows(l.Detail, l.titleHeight(l.Detail)),
		Width: max(1, main.W-2),
	}
}

// titleHeight returns how many lines the title of a pane takes, with the blank below.
func (l *Layout) titleHeight(r Rect) int {
	if l.Gap && r.H >= 14 {
		return 2
	}
	return 1
}
