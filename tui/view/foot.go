package view

import (
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// why draws the sentence that says why the selected pod is where it is.
func (f *frame) why() { f.whyIn(f.lay.Why) }

func (f *frame) whyIn(r Rect) {
	w := f.s.Why
	if r.empty() || w.Text == "" {
		return
	}
	r = r.inset(1, 0, 1, 0)
	glyph, k := f.m.pod(w.Mark)
	f.put(r.line(0), glyph, k)
	r = r.inset(2, 0, 0, 0)
	lines := wrap(w.Text, r.W)
	if len(lines) > r.H {
		lines[r.H-1] = strings.Join(lines[r.H-1:], " ")
		lines = lines[:r.H]
	}
	x := r.X
	for i, l := range lines {
		x = f.put(r.line(i), l, inkPlain)
	}
	f.evidence(r, len(lines)-1, x)
}

// evidence says where the reason is seen: in the next line, or behind the text.
func (f *frame) evidence(r Rect, last, x int) {
	if f.s.Why.Evidence == "" {
		return
	}
	text := f.textf(wordSeenIn, f.s.Why.Evidence)
	if last+1 < r.H {
		f.put(r.line(last+1), text, inkFaint)
		return
	}
	if rest := restFrom(r.line(last), x+2); width(text) <= rest.W {
		f.put(rest, text, inkFaint)
	}
}

// foot draws the last line: what is being typed, or what just happened, or which keys do something now.
func (f *frame) foot() {
	line := f.lay.Foot.inset(1, 0, 1, 0)
	switch {
	case f.s.Input != nil:
		in := *f.s.Input
		if width(in.Error) > line.W/2 {
			f.c.clear(f.lay.Why)
			f.aside(f.lay.Why.inset(1, 0, 1, 0), f.m.failed+" "+in.Error, inkFailedText)
			in.Error = ""
		} else if f.s.Notice != nil {
			f.c.clear(f.lay.Why)
			f.notice(f.lay.Why.inset(1, 0, 1, 0))
		}
		f.input(line, &in)
	case f.s.Notice != nil:
		f.notice(f.helpHint(line))
	case f.s.Over != nil && f.s.Over.Kind == screen.OverPage && f.s.Over.Input != nil:
		f.input(line, f.s.Over.Input)
	case f.s.Over != nil && len(f.s.Hints) == 0:
		f.overHints(line)
	default:
		f.hints(f.helpHint(line))
	}
}

// overHints draws the keys that do something in what is on top of the screen.
func (f *frame) overHints(line Rect) {
	x := line.X
	for _, h := range f.overKeys() {
		r := Rect{x, line.Y, hintWidth(h), 1}
		if r.right() > line.right() {
			return
		}
		f.hint(r, h)
		x = r.right() + 2
	}
}

func (f *frame) overKeys() []screen.Hint {
	choose, leave := screen.Hint{Key: "Enter", Text: f.text(wordChoose)}, screen.Hint{Key: "Esc", Text: f.text(wordBack)}
	switch f.s.Over.Kind {
	case screen.OverDialog:
		next := screen.Hint{Key: "Tab", Text: f.text(wordNext)}
		if len(f.s.Over.Items) > 0 {
			next.Key = "Up Down"
		}
		return []screen.Hint{choose, leave, next}
	case screen.OverPage:
		find := screen.Hint{Key: "/", Text: f.text(wordFind)}
		if f.s.Over.Found != "" {
			find = screen.Hint{Key: "n", Text: f.text(wordNext)}
		}
		return append([]screen.Hint{leave, find}, f.s.Over.Hints...)
	case screen.OverStack:
		return f.stackKeys(leave)
	}
	return []screen.Hint{choose, leave}
}

// helpHint draws the last hint, the way to the help page, at the end of the line, where it always is. It returns the
// rest of the line.
func (f *frame) helpHint(line Rect) Rect {
	n := len(f.s.Hints)
	if n == 0 {
		return line
	}
	h := f.s.Hints[n-1]
	w := hintWidth(h)
	at := Rect{line.right() - w, line.Y, w, 1}
	f.hint(at, h)
	return Rect{line.X, line.Y, max(0, line.W-w-2), 1}
}

// hints draws as many hints as fit, the most important first.
func (f *frame) hints(line Rect) {
	x, pod := line.X, ""
	for _, h := range f.s.Hints[:max(0, len(f.s.Hints)-1)] {
		name := ""
		if h.Pod != "" && h.Pod != pod {
			name = f.hintPod(h.Pod) + ": "
		}
		w := hintWidth(h)
		if x+width(name)+w > line.right() {
			return
		}
		x = f.c.put(line, x, line.Y, name, inkAccent)
		f.hint(Rect{x, line.Y, w, 1}, h)
		x, pod = x+w+2, h.Pod
	}
}

// hintPod returns the name of the pod on which the keys behind it act, with its namespace if there is room.
func (f *frame) hintPod(pod string) string {
	if width(pod) <= nameRoom(f.st.Width) {
		return pod
	}
	if _, name, ok := strings.Cut(pod, "/"); ok {
		pod = name
	}
	return ShortName(pod, f.st)
}

func hintWidth(h screen.Hint) int { return width(h.Key) + 1 + width(h.Text) }

func (f *frame) hint(r Rect, h screen.Hint) {
	key, text := inkKey, inkMuted
	if h.Off != "" {
		key, text = inkFaint, inkFaint
	}
	x := f.c.put(r, r.X, r.Y, h.Key, key)
	f.c.put(r, x+1, r.Y, h.Text, text)
	f.zone(r, Target{Kind: OnHint, ID: h.Key})
}

// notice draws what happened. A long notice also takes the place of the reason above, so that nothing of it is lost.
func (f *frame) notice(line Rect) {
	if line.empty() {
		return
	}
	text, k := f.s.Notice.Text, inkAccent
	if f.s.Notice.Error {
		text, k = f.m.failed+" "+text, inkFailedText
	}
	why := f.lay.Why
	f.aside(Rect{line.X, why.Y, line.W, line.bottom() - why.Y}, text, k)
}

// aside writes a text at the bottom of a part, over what is drawn there.
func (f *frame) aside(r Rect, text string, k ink) {
	lines := wrap(text, r.W)
	if len(lines) > r.H {
		lines[r.H-1] = strings.Join(lines[r.H-1:], " ")
		lines = lines[:r.H]
	}
	if len(lines) > 1 {
		f.c.clear(f.lay.Why)
	}
	r = r.inset(0, r.H-len(lines), 0, 0)
	for i, l := range lines {
		f.put(r.line(i), l, k)
	}
}

// input draws a line that is being typed, scrolled so that its cursor is seen. At its end stands what is wrong with
// it, or a help.
func (f *frame) input(line Rect, in *screen.Input) {
	switch {
	case in.Error != "":
		line = f.putRight(line, fit(in.Error, line.W/2, f.m.ellipsis), inkFailedText, 16)
	case in.Help != "":
		line = f.putRight(line, fit(in.Help, line.W/2, f.m.ellipsis), inkFaint, 16)
	}
	x := line.X
	if in.Prompt != "" {
		x = f.put(line, in.Prompt, inkTitle) + 1
	}
	f.typed(restFrom(line, x), in, onNothing)
}

func (f *frame) typed(r Rect, in *screen.Input, ground ink) {
	runes := []rune(in.Text)
	at := min(max(0, in.Cursor), len(runes))
	before, under, behind := string(runes[:at]), " ", ""
	if at < len(runes) {
		under = firstOf(string(runes[at:]))
		behind = string(runes[at:])[len(under):]
	}
	cursor := inkCursor
	if f.st.reversed(ground) {
		cursor = inkPlain // on a ground that is reversed already
	}
	x := r.X + min(0, r.W-width(under)-width(before))
	x = f.c.put(r, x, r.Y, before, inkPlain.on(ground))
	f.cursor = Rect{min(x, r.right()-1), r.Y, 1, 1}
	x = f.c.put(r, x, r.Y, under, cursor)
	f.c.put(r, x, r.Y, behind, inkPlain.on(ground))
}
