package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// piece is a part of a line that may be left out. The higher its rank, the sooner it is left out.
type piece struct {
	glyph string
	text  string
	ink   ink
	gInk  ink
	rank  int
}

func (p piece) width() int {
	w := width(p.text)
	if p.glyph != "" {
		w += width(p.glyph) + 1
	}
	return w
}

// header draws the top line: what is watched on the left, and on the right how many pods are in which state.
func (f *frame) header() {
	line := f.lay.Header.inset(1, 0, 1, 0)
	left, right := choosePieces(f.about(), f.counts(), line.W)
	x := line.X
	for _, p := range left {
		x = f.piece(restFrom(line, x), p) + 2
	}
	total := -2
	for _, p := range right {
		total += p.width() + 2
	}
	x = line.right() - total
	for _, p := range right {
		x = f.piece(restFrom(line, x), p) + 2
	}
}

func (f *frame) piece(line Rect, p piece) int {
	x := line.X
	if p.glyph != "" {
		x = f.c.put(line, x, line.Y, p.glyph, p.gInk) + 1
	}
	return f.c.put(line, x, line.Y, p.text, p.ink)
}

// choosePieces leaves out pieces, the least important first, until the rest fits.
func choosePieces(left, right []piece, w int) ([]piece, []piece) {
	for {
		need, worst := 0, -1
		for _, p := range append(left[:len(left):len(left)], right...) {
			need += p.width() + 2
			worst = max(worst, p.rank)
		}
		if need-2 <= w || worst <= 0 {
			return left, right
		}
		left, right = without(left, worst), without(right, worst)
	}
}

func without(ps []piece, rank int) []piece {
	var kept []piece
	for _, p := range ps {
		if p.rank != rank {
			kept = append(kept, p)
		}
	}
	return kept
}

// about returns pieces that say what is watched, and through which probes.
func (f *frame) about() []piece {
	h := &f.s.Header
	glyph, k := f.m.link(h.Link)
	ps := []piece{
		{text: "podstep", ink: inkTitle, rank: 6},
		{glyph: glyph, gInk: k, text: h.LinkText, rank: 0},
	}
	if h.Frozen {
		ps = append(ps, piece{glyph: f.m.frozen, gInk: inkWarn, text: f.text(wordFrozen), ink: inkWarn, rank: 1})
	}
	if h.Recording != "" {
		ps = append(ps, piece{glyph: f.m.record, gInk: inkFailed, text: f.text(wordRecords) + " " + h.Recording, rank: 5})
	}
	node := 7
	if len(f.s.Crumbs) > 0 && !f.lay.Crumbs.empty() {
		node = 11 // it is in the line below as well
	}
	ps = addPiece(ps, h.Node, inkPlain, node)
	if h.Lab {
		ps = addPiece(ps, f.text(wordLab), inkAccent, 10)
	}
	if h.Kubelet != "" {
		ps = addPiece(ps, "kubelet "+h.Kubelet, inkMuted, 9)
	}
	ps = addPiece(ps, strings.Join(h.Probes, " "), inkMuted, 7)
	for i := range h.Failing {
		ps = append(ps, f.failing(&h.Failing[i]))
	}
	ps = addPiece(ps, h.Blind, inkFaint, 8)
	if h.Filter != "" {
		ps = append(ps, piece{text: " " + f.text(wordFilter) + " " + fit(h.Filter, 32, f.m.ellipsis) + " ", ink: inkAccentChip, rank: 2})
	}
	return ps
}

// failing returns a piece for a probe that sees nothing, with the reason.
func (f *frame) failing(p *screen.Failing) piece {
	out := piece{glyph: f.m.failed, gInk: inkFailed, text: p.Probe + " " + f.text(wordFailed), ink: inkFailedText, rank: 3}
	if p.Again {
		out.glyph, out.gInk, out.text, out.ink = f.m.waits, inkWarn, p.Probe+" "+f.text(wordTries), inkWarn
	}
	if p.Why != "" {
		out.text += f.text(wordColon) + fit(p.Why, 32, f.m.ellipsis)
	}
	return out
}

func addPiece(ps []piece, text string, k ink, rank int) []piece {
	if text == "" {
		return ps
	}
	return append(ps, piece{text: text, ink: k, rank: rank})
}

// counts returns pieces that say how many pods are in which state.
func (f *frame) counts() []piece {
	h := &f.s.Header
	pods := wordPodCount
	if h.Pods == 1 {
		pods = wordOnePod
	}
	ps := []piece{{text: strconv.Itoa(h.Pods) + " " + f.text(pods), ink: inkMuted, rank: 4}}
	some := func(n int, mark life.State, word probes.Text, rank int) {
		if n > 0 {
			glyph, k := f.m.pod(mark)
			ps = append(ps, piece{glyph: glyph, gInk: k, text: strconv.Itoa(n) + " " + f.text(word), ink: k, rank: rank})
		}
	}
	some(h.Retrying, life.Retrying, wordRetrying, 3)
	some(h.Stuck, life.Stuck, wordStuck, 2)
	some(h.Held, life.Held, wordHeld, 1)
	if h.Dropped > 0 {
		ps = append(ps, piece{text: fmt.Sprintf(" %d %s ", h.Dropped, f.text(wordLost)), ink: inkFailedChip, rank: 1})
	}
	return ps
}

// crumbs draws the reader's place and, on the right, the names of the views.
func (f *frame) crumbs() {
	if f.lay.Crumbs.empty() {
		return
	}
	line := f.lay.Crumbs.inset(1, 0, 1, 0)
	rest := f.views(line)
	x := rest.X
	for i, c := range f.s.Crumbs {
		if i > 0 {
			x = f.c.put(rest, x+1, rest.Y, f.m.crumb, inkLine) + 1
		}
		k := inkFaint
		if i == len(f.s.Crumbs)-1 {
			k = inkMuted
		}
		from := x
		x = f.put(restFrom(rest, x), c, k)
		f.zone(Rect{from, rest.Y, x - from, 1}, Target{Kind: OnCrumb, Index: i})
	}
}

// views draws the names of the views of the main pane, if there is room, and returns the rest of the line.
func (f *frame) views(line Rect) Rect {
	total := 0
	for _, p := range mainPanes {
		total += width(f.text(p.name)) + 3
	}
	if total > line.W*6/10 {
		return line
	}
	x := line.right() - total + 3
	rest := Rect{line.X, line.Y, x - line.X - 2, 1}
	for _, p := range mainPanes {
		k := inkFaint
		if p.main == f.s.Main {
			k = inkTitle
		}
		from := x
		x = f.c.put(line, x, line.Y, f.text(p.name), k)
		f.zone(Rect{from, line.Y, x - from, 1}, Target{Kind: OnMain, Main: p.main})
		x += 3
	}
	return rest
}

// scrub draws into the line under the header how far a trace file has been played.
func (f *frame) scrub() {
	h := &f.s.Header
	if h.Of <= 0 || !f.lay.Hold.empty() || len(f.lay.Rules) == 0 || f.lay.Rules[0].Y > 2 {
		return
	}
	r := f.lay.Rules[0]
	n := int(float64(r.W-1) * min(1, max(0, float64(h.At)/float64(h.Of))))
	f.c.repeat(r, r.X, r.Y, n, f.m.played, inkAccent)
	f.c.put(r, r.X+n, r.Y, f.m.knob, inkTitle)
}

// tiny draws the parts that a very small terminal has room for: the counts, the hold, and why the selected pod
// waits.
func (f *frame) tiny() {
	f.header()
	f.hold()
	f.whyIn(f.lay.Why)
}
