package state

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

var update = flag.Bool("update", false, "write golden files anew")

// recording is what a real agent sent: its Info and its batches.
type recording struct {
	info    *agentpb.InfoResponse
	batches []*agentpb.Batch
}

// record reads testdata/lab.podstep: three minutes of the containerd lab with the pods of docs/examples. Some of
// these were held, failed or were deleted.
func record(t testing.TB) *recording {
	t.Helper()
	info, batches, err := tracetest.Read("testdata/lab.podstep")
	if err != nil {
		t.Fatal(err)
	}
	return &recording{info: info, batches: batches}
}

// play returns a session of the whole recording.
func (r *recording) play(lang words.Lang) *State {
	s := New(r.info, probes.MustLoad(), lang)
	s.SetLink(screen.LinkReplay, "replay")
	for _, b := range r.batches {
		s.Add(b)
	}
	return s
}

var allRows = screen.Sizes{Pods: 100, Main: 1000, Detail: 50, Width: 120}

var smallRows = screen.Sizes{Pods: 5, Main: 20, Detail: 5, Width: 60}

// dump writes a screen as text.
func dump(sc *screen.Screen) string {
	var b bytes.Buffer
	h := sc.Header
	fmt.Fprintf(&b, "header %s %s %s pods %d stuck %d retrying %d held %d blind %q\n", h.Node, h.Kubelet, strings.Join(h.Probes, " "), h.Pods, h.Stuck, h.Retrying, h.Held, h.Blind)
	fmt.Fprintf(&b, "crumbs %s\n", strings.Join(sc.Crumbs, " > "))
	for i, p := range sc.Pods.Rows {
		fmt.Fprintf(&b, "pod %s %s/%s %s %s at %s: %s left %s\n", pick(i == sc.Pods.Cursor, "»", " "), p.Namespace, p.Name, p.Word, round(p.For), p.Where, p.Line, round(p.Left))
	}
	fmt.Fprintf(&b, "why %s [%s]\n", sc.Why.Text, sc.Why.Evidence)
	if st := sc.Story(); st != nil {
		fmt.Fprintf(&b, "story %q clock %q total %d follow %t newer %d\n", st.Title, st.Clock, st.Total, st.Follow, st.Newer)
		for _, r := range st.Rows {
			b.WriteString(dumpRow(r))
		}
	}
	return b.String()
}

var rowMarks = map[screen.RowMark]string{screen.RowDone: "✓", screen.RowFailed: "✗", screen.RowCurrent: "●", screen.RowHeld: "■", screen.RowToCome: "·", screen.RowUnseen: "?", screen.RowWaits: "↻", screen.RowNoted: "i"}

func dumpRow(r screen.Row) string {
	open := " "
	if r.Opens {
		open = pick(r.Open, "▾", "▸")
	}
	s := fmt.Sprintf("%s%s%s%s %s", pick(r.Cursor, "»", " "), strings.Repeat("  ", r.Depth), open, rowMarks[r.Mark], r.Label)
	if r.Note != "" {
		s += "  | " + r.Note
	}
	if r.Times > 1 {
		s += fmt.Sprintf(" ×%d", r.Times)
	}
	if r.Took != 0 {
		s += "  " + words.Took(r.Took)
	}
	if r.Hidden > 0 {
		s += fmt.Sprintf(" +%d", r.Hidden)
	}
	if r.Left > 0 {
		s += "  left " + words.Took(r.Left)
	}
	if r.Error != "" {
		s += "  !! " + words.Cut(r.Error, 100)
	}
	return s + fmt.Sprintf("  (%s)\n", r.Step)
}

func pick(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; write it anew with go test -update ./tui/state\n%s", file, firstDiff(string(want), got))
	}
}

func firstDiff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, x, y)
		}
	}
	return ""
}

func dumpDetail(sc *screen.Screen) string {
	var b strings.Builder
	d := sc.Detail
	if d == nil {
		return "none\n"
	}
	fmt.Fprintf(&b, "crumbs %s\n%s %s\n%s\nplace %s\n", strings.Join(sc.Crumbs, " > "), d.Step, d.Title, d.Text, d.Place)
	for i, l := range d.Source {
		fmt.Fprintf(&b, "%s%5d %s\n", pick(i == d.Mark, "»", " "), d.First+i, l)
	}
	for _, v := range d.Args {
		fmt.Fprintf(&b, "arg %s: %s\n", v.Name, v.Text)
	}
	for _, v := range d.Results {
		fmt.Fprintf(&b, "result %s: %s\n", v.Name, v.Text)
	}
	fmt.Fprintf(&b, "request\n%s\nresponse\n%s\n", strings.Join(d.Request, "\n"), strings.Join(d.Response, "\n"))
	fmt.Fprintf(&b, "error %s\ntook %s began %s goroutine %s\nhold %s\n", d.Error, round(d.Took), d.Began.UTC().Format(time.TimeOnly), d.Goroutine, d.Hold)
	return b.String()
}

func dumpTimeline(sc *screen.Screen) string {
	var b strings.Builder
	l := sc.Timeline()
	fmt.Fprintf(&b, "from %s to %s now %s top %d total %d cursor %d many %t\n", round(l.From), round(l.To), round(l.Now), l.Top, l.Total, l.Cursor, l.Many)
	for i, r := range l.Bars {
		fmt.Fprintf(&b, "%s%s%s %-40s %12s %12s %s%s\n", pick(i == l.Cursor, "»", " "), strings.Repeat("  ", r.Depth), rowMarks[r.Mark], words.Cut(r.Label, 40),
			r.From.Round(time.Microsecond), r.To.Round(time.Microsecond), pick(r.Open, "open ", ""), pick(r.Critical, "critical", ""))
	}
	return b.String()
}

func dumpEvents(sc *screen.Screen) string {
	var b strings.Builder
	l := sc.Events()
	fmt.Fprintf(&b, "top %d total %d more %t cursor %d follow %t newer %d filter %q %s\n", l.Top, l.Total, l.More, l.Cursor, l.Follow, l.Newer, l.Filter, l.Empty)
	for i, r := range l.Rows {
		pod := ""
		if r.Event.Pod != nil {
			pod = r.Event.Pod.Name
		}
		fmt.Fprintf(&b, "%s%6d %s %-8s %-20s %s  %s\n", pick(i == l.Cursor, "»", " "), r.Pos, r.Event.Time.UTC().Format("15:04:05.000"), r.Event.Kind, r.Event.Step, pod, words.Cut(r.Text, 120))
	}
	return b.String()
}
