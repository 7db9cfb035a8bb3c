package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/probes/words"
)

// rowJSON is a row of the four columns as scripts get it. A place that says nothing is left out.
type rowJSON struct {
	Container string              `json:"container,omitempty"`
	What      string              `json:"what"` // in English: scripts select by it
	Places    map[string]cellJSON `json:"places"`
	Differs   bool                `json:"differs"`
	Since     *time.Time          `json:"since,omitempty"` // it differs
}

type cellJSON struct {
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
}

func newRowsJSON(rows []columns.Row, l words.Lang) (out []rowJSON) {
	for _, r := range rows {
		row := rowJSON{Container: r.Container, What: r.What.En, Places: map[string]cellJSON{}, Differs: r.Differs, Since: known(r.Since)}
		for _, p := range columns.Places {
			if text := l.In(r.Cells[p].Text); text != "" {
				row.Places[p.String()] = cellJSON{words.OneLine(text), known(r.Cells[p].Since)}
			}
		}
		out = append(out, row)
	}
	return out
}

// writeColumns prints what the places have of a pod: as a table, or one below the other if the terminal is too narrow for that.
func writeColumns(w io.Writer, t *columns.Table, l words.Lang) {
	if t == nil || len(t.Rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	header := []string{""}
	for _, p := range columns.Places {
		header = append(header, l.In(p.Title()))
	}
	lines := [][]string{append(header, "")}
	for i := range t.Rows {
		lines = append(lines, columnsLine(&t.Rows[i], t, l))
	}
	if !writeAligned(w, lines) {
		writeRows(w, t.Rows, t, l)
	}
	if t.StatusUnknown {
		fmt.Fprintln(w, l.In(words.Text("?  This kubelet does not show the status that it has: its pods API does, which is on by default from v1.37 on.",
			"?  这个 kubelet 不展示它自己的状态：那要看它的 Pods API，从 v1.37 起默认开启。")))
	}
}

func columnsLine(r *columns.Row, t *columns.Table, l words.Lang) []string {
	line := []string{r.Name(l)}
	for _, p := range columns.Places {
		switch text := r.Cells[p].In(l, t.Taken); {
		case text != "":
			line = append(line, text)
		case t.Seen[p] && !r.Cells[p].Unknown:
			line = append(line, "-")
		default:
			line = append(line, "?")
		}
	}
	return append(line, r.Apart(l, t.Taken))
}

// writeAligned prints lines in columns. It prints nothing, and returns false, if w is a terminal that is too narrow.
func writeAligned(w io.Writer, lines [][]string) bool {
	const gap = 2
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	all := 0
	for _, width := range widths {
		all += width + gap
	}
	if f, is := w.(*os.File); is && term.IsTerminal(f.Fd()) {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 && all-gap > width {
			return false
		}
	}
	for _, line := range lines {
		out := ""
		for i, text := range line {
			out += text + strings.Repeat(" ", widths[i]-ansi.StringWidth(text)+gap)
		}
		fmt.Fprintln(w, strings.TrimRight(out, " "))
	}
	return true
}

// writeDiffering prints the rows in which places differ.
func writeDiffering(w io.Writer, t *columns.Table, l words.Lang) {
	rows := t.Differing()
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", l.In(columns.Heading))
	writeRows(w, rows, t, l)
}

// writeRows prints rows one below the other, each with those that say something.
func writeRows(w io.Writer, rows []columns.Row, t *columns.Table, l words.Lang) {
	for i := range rows {
		r := &rows[i]
		head := r.Name(l)
		if apart := r.Apart(l, t.Taken); apart != "" {
			head += "  (" + apart + ")"
		}
		fmt.Fprintf(w, "  %s\n", head)
		for _, p := range columns.Places {
			if text := r.Cells[p].In(l, t.Taken); text != "" {
				title := l.In(p.Title())
				fmt.Fprintf(w, "    %s%s %s\n", title, strings.Repeat(" ", max(0, titleWidth-ansi.StringWidth(title))), text)
			}
		}
	}
}

// titleWidth is the width of the longest title of a place.
const titleWidth = 16

// restartJSON is what has changed for a pod since the kubelet was started, as scripts get it.
type restartJSON struct {
	Started time.Time    `json:"kubeletStarted"`
	Changes []changeJSON `json:"changes"`
}

type changeJSON struct {
	Container string    `json:"container,omitempty"`
	What      string    `json:"what"` // in English
	Text      string    `json:"text"`
	At        time.Time `json:"at"`
}

func newRestartJSON(r *columns.Restart, l words.Lang) *restartJSON {
	if r == nil {
		return nil
	}
	out := &restartJSON{Started: r.Started}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, changeJSON{c.Container, c.What.En, words.OneLine(l.In(c.Text)), c.At})
	}
	return out
}

// writeRestart prints what has changed for a pod since the kubelet was started.
func writeRestart(w io.Writer, r *columns.Restart, l words.Lang) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "\n%s\n", r.Heading(l))
	width := 0
	for i := range r.Changes {
		width = max(width, ansi.StringWidth(r.Changes[i].Name(l)))
	}
	for i := range r.Changes {
		name := r.Changes[i].Name(l)
		fmt.Fprintf(w, "  %s%s  %s\n", name, strings.Repeat(" ", width-ansi.StringWidth(name)), r.In(&r.Changes[i], l))
	}
}
