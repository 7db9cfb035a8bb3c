package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui"
)

// topPrinter prints what top has counted: once, or again and again.
type topPrinter struct {
	*app
	flags   *topFlags
	against *spread.Baseline // nil: nothing is compared
	printed bool
	lines   int // how many lines of the terminal the last table took
}

// again prints the present table, if the person wants it again and again.
func (p *topPrinter) again(t *topper) error {
	if !p.flags.watch {
		return nil
	}
	return p.show(func(w io.Writer) error { return p.printTo(w, t) })
}

// show prints a table: in the place of the last one, if it is watched at a terminal.
func (p *topPrinter) show(printTo func(io.Writer) error) error {
	if p.flags.watch && p.flags.out.value != "json" && p.flags.out.value != "yaml" {
		if f, is := p.out.(*os.File); is && term.IsTerminal(f.Fd()) {
			width, height, err := term.GetSize(f.Fd())
			if err == nil && width > 0 && height > 2 {
				return p.redraw(printTo, width, height)
			}
		}
		if p.printed {
			fmt.Fprintf(p.out, "\n%s\n", time.Now().Format(time.TimeOnly))
		}
	}
	p.printed = true
	return printTo(p.out)
}

// last prints the table at the end. A table that was watched stands there already, unless there is more to print.
func (p *topPrinter) last(t *topper) error {
	if p.flags.watch && p.printed {
		return nil
	}
	return p.print(t)
}

func (p *topPrinter) print(t *topper) error {
	p.printed = true
	return p.printTo(p.out, t)
}

func (p *topPrinter) printTo(w io.Writer, t *topper) error {
	if p.against != nil {
		d := spread.Against(p.against, t.h, t.rows(spread.ByP99))
		return p.flags.out.print(w, newDifferencesJSON(p.against, d), func(w io.Writer) { differencesText(w, t, p.against, d) })
	}
	rows := t.rows(spread.Order(p.flags.sort.value))
	return p.flags.out.print(w, newTopJSON(t, rows), func(w io.Writer) { topText(w, t, rows, p.flags.out.wide(), p.levels()) })
}

// redraw prints the table over the last one, as far as the terminal has room.
func (p *topPrinter) redraw(printTo func(io.Writer) error, width, height int) error {
	var b bytes.Buffer
	if err := printTo(&b); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if more := len(lines) - (height - 1); more > 0 {
		lines = append(lines[:height-2], fmt.Sprintf("and %d more lines; a higher terminal shows them", more+1))
	}
	var out strings.Builder
	if p.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\r", p.lines)
	}
	// Line by line: if all is cleared at once, some terminals keep what was there in their scrollback.
	for _, l := range lines {
		out.WriteString(ansi.Truncate(l, width, "") + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	p.printed, p.lines = true, len(lines)
	_, err := io.WriteString(p.out, out.String())
	return err
}

// levels returns the levels of heat lines: blocks only for a terminal that shows them.
func (p *topPrinter) levels() []string {
	if isTerminal(p.out) && !noColor() && tui.UTF8Locale(os.Getenv) {
		return spread.HeatBlocks
	}
	return spread.HeatSigns
}

func topText(w io.Writer, t *topper, rows []spread.Row, wide bool, levels []string) {
	calls := 0
	for i := range rows {
		calls += rows[i].Calls
	}
	fmt.Fprintf(w, "%s: %d calls in %s\n", aboutTop(t.pods.Written(), t.info.GetNode(), t.info.GetKubeletVersion()), calls, words.Clock(t.seen()))
	if t.gaps > 0 {
		fmt.Fprintf(w, "events were lost, %d times: there were more calls than are counted\n", t.gaps)
	}
	if len(rows) == 0 {
		return
	}
	var cells [][]string
	for i := range rows {
		cells = append(cells, topCells(t, &rows[i], wide, levels))
	}
	table(w, topHeader(wide), cells)
}

func topHeader(wide bool) []string {
	header := []string{"STEP", "CALLS", "ERRORS", "P50", "P99", "MAX", "SHARE", "OPEN", "MAX IN"}
	if wide {
		header = []string{"STEP", "STAGE", "CALLS", "PER MIN", "ERRORS", "P50", "P90", "P99", "MAX", "SUM", "SHARE", "OPEN", "FOR", "MAX IN"}
	}
	return append(header, spread.HeatScale)
}

// aboutTop says of which pods durations are.
func aboutTop(of, node, kubelet string) string {
	text := of
	if of == (&agentpb.PodSelector{}).Written() || of == "" {
		text = "all pods"
	}
	if node != "" {
		text += " of " + node
	}
	if kubelet != "" {
		text += ", kubelet " + kubelet
	}
	return words.Clean(text)
}

func topCells(t *topper, r *spread.Row, wide bool, levels []string) []string {
	took := func(d time.Duration) string {
		if r.Calls == 0 {
			return ""
		}
		return words.Measured(d)
	}
	st := t.h.Step(r.Step)
	open, longest, share := "", "", ""
	if r.Open > 0 {
		open, longest = strconv.Itoa(r.Open), words.Clock(r.Longest.Took)
	}
	if r.Calls > 0 {
		share = fmt.Sprintf("%.1f %%", 100*r.Share)
	}
	in := t.podNamed(r)
	calls, errors, heat := strconv.Itoa(r.Calls), strconv.Itoa(r.Errors), spread.HeatLine(r.Heat, levels)
	if wide {
		return []string{st.Name, st.Stage, calls, fmt.Sprintf("%.1f", r.PerMinute), errors, took(r.P50), took(r.P90), took(r.P99), took(r.Max), took(r.Sum), share, open, longest, in, heat}
	}
	return []string{st.Name, calls, errors, took(r.P50), took(r.P99), took(r.Max), share, open, in, heat}
}

// worstCall returns the longest call of a row that has ended, or else that goes on.
func worstCall(r *spread.Row) spread.Call {
	if r.Calls > 0 {
		return r.Worst
	}
	return r.Longest
}

// podNamed names the pod of the longest call of a row, or the node.
func (t *topper) podNamed(r *spread.Row) string {
	if pod := worstCall(r).Pod; pod != 0 {
		return t.h.Pod(pod).Entity.NamespacedName()
	}
	return t.info.GetNode()
}

// topJSON is what top counts, as scripts get it.
type topJSON struct {
	Of      string        `json:"of"`
	Node    string        `json:"node"`
	Kubelet string        `json:"kubelet"`
	SeenNs  int64         `json:"seenNs"`
	Gaps    int           `json:"gaps"` // how many times events were lost
	Steps   []topStepJSON `json:"steps"`
}

type topStepJSON struct {
	spread.Kept
	Stage     string       `json:"stage"`
	PerMinute float64      `json:"perMinute"`
	Share     float64      `json:"share"`
	Open      int          `json:"open"`
	Worst     *topCallJSON `json:"worst"`
	Longest   *topCallJSON `json:"longestOpen"`
	// Heat is how many calls each bin of the heat line has.
	Heat [spread.HeatBins]int `json:"heat"`
}

// topCallJSON is one call.
type topCallJSON struct {
	Pod    *probes.Pod `json:"pod"` // nil: the node
	Span   uint64      `json:"span"`
	Begin  time.Time   `json:"begin"`
	TookNs int64       `json:"tookNs"`
}

func newTopJSON(t *topper, rows []spread.Row) *topJSON {
	out := &topJSON{Of: t.pods.Written(), Node: t.info.GetNode(), Kubelet: t.info.GetKubeletVersion(), SeenNs: int64(t.seen()), Gaps: t.gaps, Steps: []topStepJSON{}}
	for i := range rows {
		r := &rows[i]
		s := topStepJSON{Kept: r.Kept(t.h), Stage: t.h.Step(r.Step).Stage, PerMinute: r.PerMinute, Share: r.Share, Open: r.Open, Heat: r.Heat}
		if r.Calls > 0 {
			s.Worst = t.callJSON(r.Worst)
		}
		if r.Open > 0 {
			s.Longest = t.callJSON(r.Longest)
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

func (t *topper) callJSON(c spread.Call) *topCallJSON {
	out := &topCallJSON{Span: c.ID, Begin: time.Unix(0, t.h.Origin()+c.Start).UTC(), TookNs: int64(c.Took)}
	if c.Pod != 0 {
		pod := t.h.Pod(c.Pod).Entity
		out.Pod = &pod
	}
	return out
}
