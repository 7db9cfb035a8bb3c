package view

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// pods draws the list of pods. A pod in trouble has a second line.
func (f *frame) pods(r Rect) {
	if r.empty() {
		return
	}
	f.zone(r, Target{Kind: OnPane, Pane: screen.PanePods})
	list := &f.s.Pods
	r = f.title(r, screen.PanePods, f.podsTitle(), f.text(sortWords[list.Sort]))
	if len(list.Rows) == 0 {
		f.empty(r, list.Empty)
		return
	}
	from := podsFrom(list, r.H)
	y := 0
	shown := 0
	for i := from; i < len(list.Rows) && y < r.H; i++ {
		n := podLines(&list.Rows[i])
		f.pod(Rect{r.X, r.Y + y, r.W, min(n, r.H-y)}, &list.Rows[i], i == list.Cursor)
		y += n
		shown++
	}
	if list.Empty != "" && y+1 < r.H {
		f.empty(r.inset(0, y+1, 0, 0), list.Empty)
	}
	f.thumb(r, list.Top+from, shown, list.Total)
}

// SortWord returns the name of an order.
func SortWord(by screen.PodSort) probes.Text { return sortWords[by] }

// podsTitle says how many of the pods the filter selects, and how many are marked.
func (f *frame) podsTitle() string {
	l, title := &f.s.Pods, f.text(wordPods)
	if l.Of > 0 {
		title += " " + fmt.Sprintf(f.text(wordNOf), l.Match, l.Of)
	}
	if l.Hidden > 0 {
		title += " " + f.textf(wordHidden, l.Hidden)
	}
	if l.Marked > 0 {
		title += " " + f.m.picked + " " + f.textf(wordMarked, l.Marked)
	}
	return title
}

// nameUsual is the room that a pod's name gets beside its state. nameLeast is the room below which the time is left
// out.
const nameUsual, nameLeast = 9, 7

func podLines(p *screen.PodRow) int {
	if p.Line != "" {
		return 2
	}
	return 1
}

// podsFrom returns the first pod to draw so that the selected one is seen.
func podsFrom(list *screen.PodList, h int) int {
	from, used := 0, 0
	for i := 0; i <= list.Cursor && i < len(list.Rows); i++ {
		used += podLines(&list.Rows[i])
		for used > h && from < i {
			used -= podLines(&list.Rows[from])
			from++
		}
	}
	return from
}

func (f *frame) pod(r Rect, p *screen.PodRow, selected bool) {
	ground, name := onNothing, inkPlain
	if p.Mark == life.Gone || p.Mark == life.Done {
		name = inkMuted
	}
	if selected {
		for i := range r.H {
			ground = f.gutter(r.line(i), screen.PanePods, onNothing)
		}
		name = inkStrong
	}
	f.zone(r, Target{Kind: OnPod, Pane: screen.PanePods, Pod: p.Key})
	glyph, k := f.m.pod(p.Mark)
	if p.Bad {
		glyph, k = f.m.stuck, inkFailedText
	}
	line := r.line(0).inset(1, 0, 2, 0)
	f.put(line, glyph, k.on(ground))
	line = line.inset(2, 0, 0, 0)

	word := k
	if p.Mark >= life.Waiting && !p.Bad {
		word = inkFaint
	}
	text, column := f.podState(p), f.namespaceWidth()
	if column > 0 {
		column++ // for the gap behind it
	}
	switch room := line.W - column - width(text) - 2; {
	case p.Mark == life.Held && p.Left > 0 && room < nameUsual:
		text = f.textf(wordLeft, words.Clock(p.Left)) // the sign says that it is held
	case room < nameLeast:
		text = p.Word
	}
	line = f.putRight(line, text, word.on(ground), 6)
	line = f.podColumns(line, p, ground)
	if p.Marked {
		f.put(line, f.m.picked, inkAccent.on(ground))
		line = line.inset(2, 0, 0, 0)
	}
	f.podName(line, p, column, name, ground)
	if p.Line != "" && r.H > 1 {
		f.put(r.line(1).inset(3, 0, 2, 0), p.Line, inkMuted.on(ground))
	}
}

// shows reports whether the list has a column.
func (f *frame) shows(c screen.PodColumn) bool {
	columns := f.s.Pods.Columns
	if columns == nil {
		columns = screen.UsualColumns
	}
	return slices.Contains(columns, c)
}

// podColumns writes the columns that stand before a pod's state, if there is room.
func (f *frame) podColumns(line Rect, p *screen.PodRow, ground ink) Rect {
	if f.shows(screen.ColumnSeen) && p.Seen > 0 {
		line = f.putRight(line, words.Clock(p.Seen), inkFaint.on(ground), 12)
	}
	if f.shows(screen.ColumnRestarts) && p.Restarts >= 0 {
		k := inkFaint
		if p.Restarts > 0 {
			k = inkWarn
		}
		line = f.putRight(line, f.m.waits+strconv.Itoa(p.Restarts), k.on(ground), 12)
	}
	return line
}

// podName returns the full name. The row of the node has no namespace.
func podName(p *screen.PodRow) string {
	return probes.Pod{Namespace: p.Namespace, Name: p.Name}.NamespacedName()
}

// podName writes the name and, if there is room behind it, the pod's step. The namespaces of a list stand in a column of
// one width, if there are several.
func (f *frame) podName(line Rect, p *screen.PodRow, column int, name, ground ink) {
	if w := column - 1; w > 0 {
		k := inkMuted
		if name == inkMuted {
			k = inkFaint
		}
		f.put(line.inset(0, 0, line.W-w, 0), fit(p.Namespace, w, f.m.ellipsis), k.on(ground))
		line = line.inset(column, 0, 0, 0)
	}
	x := f.put(line, fitMiddle(p.Name, line.W, f.m.ellipsis), name.on(ground))
	if rest := restFrom(line, x+2); p.Where != "" && f.shows(screen.ColumnStep) && width(p.Where) <= rest.W {
		f.put(rest, p.Where, inkFaint.on(ground))
	}
}

// namespaceLeast is the width of a list below which the names of pods need all of it.
const namespaceLeast = 32

// namespaceWidth returns the width of the column of namespaces; 0: there is none.
func (f *frame) namespaceWidth() int {
	if f.s.Pods.Namespace == 0 || f.lay.Pods.W < namespaceLeast || !f.shows(screen.ColumnNamespace) {
		return 0
	}
	return min(f.s.Pods.Namespace, max(len("default"), f.lay.Pods.W/5))
}

// podState returns the name of the pod's state with a time: for a held pod the time until it goes on, for others how
// long they have been so.
func (f *frame) podState(p *screen.PodRow) string {
	switch {
	case p.Mark == life.Held && p.Left > 0:
		return f.joinAlso(p.Word, f.textf(wordLeft, words.Clock(p.Left)))
	case p.Mark == life.Held: // it never shows since when
	case p.Mark <= life.Waiting && p.For > 0:
		return p.Word + " " + words.Clock(p.For)
	}
	return p.Word
}
