package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// detail draws a step in full, scrolled to where the reader is.
func (f *frame) detail(r Rect) {
	d := f.s.Detail
	if r.empty() || d == nil {
		return
	}
	f.zone(r, Target{Kind: OnPane, Pane: screen.PaneDetail})
	r = f.detailTitle(r, d)
	lines := f.detailLines(d, r.W-4, r.H)
	top := max(0, min(d.Top, len(lines)-r.H))
	shown := min(r.H, len(lines)-top)
	for i := range shown {
		f.rich(r.line(i).inset(1, 0, 2, 0), lines[top+i], onNothing)
	}
	f.thumb(r, top, shown, len(lines))
}

// DetailRows returns how many lines the detail of a screen has, and how many of them are shown. They bound the
// detail's Top.
func DetailRows(s *screen.Screen, st *Styles) (all, shown int) {
	f := &frame{s: s, st: st, m: st.m, lay: Arrange(st.Width, st.Height, ArrangementOf(s))}
	r := f.lay.Detail
	if s.Detail == nil || r.empty() {
		return 0, 0
	}
	h := max(0, r.H-f.lay.titleHeight(r))
	return len(f.detailLines(s.Detail, r.W-4, h)), h
}

// DetailText returns the lines of the detail of a screen, as drawn.
func DetailText(s *screen.Screen, st *Styles) (lines []string) {
	f := &frame{s: s, st: st, m: st.m, lay: Arrange(st.Width, st.Height, ArrangementOf(s))}
	r := f.lay.Detail
	if s.Detail == nil || r.empty() {
		return nil
	}
	for _, l := range f.detailLines(s.Detail, r.W-4, max(0, r.H-f.lay.titleHeight(r))) {
		var text strings.Builder
		for _, part := range l {
			text.WriteString(part.text)
		}
		lines = append(lines, text.String())
	}
	return lines
}

func (f *frame) detailTitle(r Rect, d *screen.Detail) Rect {
	name := d.Title
	if name == "" {
		name = d.Step
	}
	if name == "" {
		name = f.text(wordDetail)
	}
	var right []string
	if d.Step != "" && d.Step != name && r.W-width(name)-width(d.Step) > 20 {
		right = append(right, d.Step)
	}
	if d.Took > 0 {
		right = append(right, words.Measured(d.Took))
	}
	return f.title(r, screen.PaneDetail, name, strings.Join(right, "   "))
}

// detailLines returns all lines of the detail, of which h can be seen at once.
func (f *frame) detailLines(d *screen.Detail, w, h int) []rich {
	var lines []rich
	part := func(more []rich) {
		if len(more) == 0 {
			return
		}
		if len(lines) > 0 && h > 8 {
			lines = append(lines, nil)
		}
		lines = append(lines, more...)
	}
	text, rest := d.Text, ""
	if h < 20 {
		text, rest = sentence(d.Text)
	}
	part(wrapped(d.Held, min(w, 96), 0, inkHeldText))
	part(wrapped(text, min(w, 96), 0, inkPlain))
	if d.Error != "" {
		part(wrapped(f.m.failed+" "+f.text(wordFailed)+f.text(wordColon)+d.Error, w, 2, inkFailedText))
	}
	call := func() {
		part(f.yamlLines(f.m.request+" "+f.text(wordRequest), d.Request))
		part(f.yamlLines(f.m.answer+" "+f.text(wordAnswer), d.Response))
	}
	source := max(3, h/3)
	tight := h < 20 && len(d.Request) > 0
	if tight {
		source = 1 // the request matters most
	}
	part(f.sourceLines(d, w, source))
	if tight {
		call()
	}
	part(f.valueLines(wordArguments, d.Args, w))
	part(f.valueLines(wordResults, d.Results, w))
	part(f.valueLines(wordLastLogged, d.Logs, w))
	part(f.sightLines(d, w))
	if !tight {
		call()
	}
	part(wrapped(rest, min(w, 96), 0, inkMuted))
	part(f.factLines(d, w))
	part(f.valueLines(wordLogged, d.Logged, w))
	return lines
}

// sourceLines returns the lines of the kubelet's source around the marked line.
func (f *frame) sourceLines(d *screen.Detail, w, most int) []rich {
	if d.Place == "" && len(d.Source) == 0 {
		return nil
	}
	lines := []rich{{{path.Base(d.Place), inkAccent}}}
	for _, line := range d.Either[min(1, len(d.Either)):] {
		lines[0] = append(lines[0], span{fmt.Sprintf(", %d", line), inkAccent})
	}
	if len(d.Either) > 0 {
		lines[0] = append(lines[0], span{"  " + f.text(wordWhichCall), inkMuted})
	} else if dir := path.Dir(d.Place); dir != "." && width(d.Place)+2 < w {
		lines[0] = append(lines[0], span{"  " + dir, inkFaint})
	}
	from, to := 0, len(d.Source)
	if to > most {
		from = min(max(0, d.Mark-most/2), to-most)
		to = from + most
	}
	number := len(fmt.Sprint(d.First + to))
	margin := indentation(d.Source[from:to])
	for i := from; i < to; i++ {
		head, k := "  ", inkMuted
		headInk := inkFaint
		switch {
		case i == d.Mark:
			head, k, headInk = f.m.pointer+" ", inkStrong, inkCurrent
		case slices.Contains(d.Either, d.First+i):
			head, headInk = "? ", inkCurrent
		}
		p := d.Points[d.First+i]
		line := append(f.lineHead(head, fmt.Sprintf("%*d", number, d.First+i), p, headInk), goLine(strings.TrimPrefix(d.Source[i], margin), k)...)
		lines = append(lines, line)
		if p.Last != "" {
			lines = append(lines, rich{{strings.Repeat(" ", number+2) + f.m.logs + " ", inkAccent}, {p.Last, inkField}})
		}
	}
	return lines
}

// lineHead returns what stands before a line of the source: a sign, the line's number, and the signs of the breakpoints
// there.
func (f *frame) lineHead(sign, number string, p screen.Point, k ink) rich {
	head := rich{{sign, k}}
	if p.Acts {
		head = rich{{strings.TrimSuffix(sign, " "), k}, {f.m.acts, inkHeld}}
	}
	head = append(head, span{number, k})
	if p.Logs {
		return append(head, span{f.m.logs + " ", inkAccent})
	}
	return append(head, span{"  ", k})
}

// indentation returns the white space with which all lines begin that have text.
func indentation(lines []string) string {
	common, found := "", false
	for _, l := range lines {
		body := strings.TrimLeft(l, "\t ")
		if body == "" {
			continue
		}
		lead := l[:len(l)-len(body)]
		if !found {
			common, found = lead, true
		}
		for !strings.HasPrefix(lead, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}

// valueLines returns named values under each other, the names in a column.
func (f *frame) valueLines(title probes.Text, values []screen.Value, w int) []rich {
	if len(values) == 0 {
		return nil
	}
	column := 0
	for _, v := range values {
		column = max(column, min(width(v.Name), w/3))
	}
	lines := []rich{{{f.text(title), inkAccent}}}
	for _, v := range values {
		name := fit(v.Name, column, f.m.ellipsis)
		name += strings.Repeat(" ", column-width(name)+2)
		if v.Text == "" {
			lines = append(lines, rich{{"  " + name, inkField}, {`""`, inkFaint}})
			continue
		}
		for i, text := range wrap(v.Text, max(8, w-column-4)) {
			if i > 0 {
				name = strings.Repeat(" ", column+2)
			}
			lines = append(lines, rich{{"  " + name, inkField}, {text, inkPlain}})
		}
	}
	return lines
}

// sightLines returns lines that say how each probe saw the call.
func (f *frame) sightLines(d *screen.Detail, w int) []rich {
	if len(d.Sights) == 0 {
		return nil
	}
	lines := []rich{{{f.text(wordSeenBy), inkAccent}}}
	for i := range d.Sights {
		s := &d.Sights[i]
		line := rich{{"  " + s.Probe, inkField}}
		if !s.Began.IsZero() {
			line = append(line, span{"  " + s.Began.Format("15:04:05.000"), inkPlain})
		}
		if s.Took > 0 {
			line = append(line, span{"  " + words.Measured(s.Took), inkPlain})
		}
		lines = append(lines, line)
		if s.Error != "" {
			lines = append(lines, wrapped("    "+f.m.failed+" "+s.Error, w, 6, inkFailedText)...)
		}
		if len(s.Values) > 0 {
			lines = append(lines, f.valueLines(probes.Text{}, s.Values, w)[1:]...)
		}
	}
	return lines
}

func (f *frame) yamlLines(title string, yaml []string) []rich {
	if len(yaml) == 0 {
		return nil
	}
	lines := []rich{{{title, inkAccent}}}
	for _, y := range yaml {
		lines = append(lines, append(rich{{"  ", inkPlain}}, yamlLine(y)...))
	}
	return lines
}

// factLines says when and on which goroutine the call runs, and what a hold costs.
func (f *frame) factLines(d *screen.Detail, w int) []rich {
	var lines []rich
	fact := func(name probes.Text, text string) {
		if text != "" {
			head := f.text(name) + "  "
			more := wrapped(head+text, w, 2, inkMuted)
			more[0] = rich{{head, inkFaint}, {strings.TrimPrefix(more[0][0].text, head), inkMuted}}
			lines = append(lines, more...)
		}
	}
	fact(wordToHold, d.Hold)
	fact(wordNotRead, d.Missing)
	fact(wordRunsOn, d.Goroutine)
	if !d.Began.IsZero() {
		fact(wordBegan, d.Began.Format("15:04:05.000"))
	}
	return lines
}
