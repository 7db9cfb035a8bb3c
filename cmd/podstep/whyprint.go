package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// whyJSON is a report as scripts get it.
type whyJSON struct {
	Pod      evidence.Name     `json:"pod"`
	State    string            `json:"state"` // ok, young, stuck, done, unknown
	Phase    string            `json:"phase"`
	Since    time.Time         `json:"since"`
	Summary  string            `json:"summary"`
	Findings []findingJSON     `json:"findings"`
	Unseen   []evidence.Unseen `json:"unseen"`
}

type findingJSON struct {
	ID         string         `json:"id"`
	Title      string         `json:"title"`
	Cause      string         `json:"cause"`
	Subject    string         `json:"subject,omitempty"`
	Confidence string         `json:"confidence"`
	Since      *time.Time     `json:"since,omitempty"`
	Of         string         `json:"consequenceOf,omitempty"`
	Evidence   []evidenceJSON `json:"evidence"`
	Where      string         `json:"where,omitempty"`
	Refute     string         `json:"refutedBy,omitempty"`
	Clock      string         `json:"clock,omitempty"`
	Next       *time.Time     `json:"nextTry,omitempty"`
	Chain      string         `json:"waitsFor,omitempty"`
	Shows      string         `json:"kubectlShows,omitempty"`
	Fix        []causes.Do    `json:"fix"`
	Tour       string         `json:"tour,omitempty"`
}

type evidenceJSON struct {
	Source evidence.Source `json:"source"`
	Where  string          `json:"where"`
	Text   string          `json:"text"`
	Age    string          `json:"age,omitempty"`
	Seq    uint64          `json:"seq,omitempty"`
	Step   string          `json:"step,omitempty"`
}

func newWhyJSON(r *causes.Report, l words.Lang) whyJSON {
	out := whyJSON{
		Pod: r.Pod, State: string(r.Verdict), Phase: string(r.Phase), Since: r.Since, Summary: summary(r, l),
		Findings: []findingJSON{}, Unseen: r.Unseen,
	}
	if out.Unseen == nil {
		out.Unseen = []evidence.Unseen{}
	}
	for i := range r.Findings {
		out.Findings = append(out.Findings, newFindingJSON(&r.Findings[i], r.Taken, l))
	}
	return out
}

func newFindingJSON(f *causes.Finding, now time.Time, l words.Lang) findingJSON {
	out := findingJSON{
		ID: f.Cause.ID, Title: f.Title(l), Cause: f.Sentence(l), Subject: f.Subject, Confidence: string(f.Confidence),
		Since: known(f.Since), Of: f.Of, Evidence: []evidenceJSON{}, Where: f.Cause.Where, Refute: f.Refute(l), Clock: f.Clock(l),
		Next: known(f.Next), Chain: f.Chain(l), Shows: f.Shows(l), Fix: f.Advice(l), Tour: f.Cause.Tour,
	}
	for _, e := range f.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON{e.Source, e.Where, e.Text, age(e.At, now), e.Seq, e.Step})
	}
	return out
}

// known is nil for a time that is not known.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return left(max(0, now.Sub(at)))
}

// summary is a report in one sentence.
func summary(r *causes.Report, l words.Lang) string {
	switch {
	case len(r.Findings) > 0:
		return r.Findings[0].Sentence(l)
	case r.Waits != nil:
		return l.In(r.Waits.For) + " (" + l.In(r.Waits.Usual) + ")"
	}
	return l.In(verdicts[r.Verdict])
}

var verdicts = map[causes.Verdict]probes.Text{
	causes.OK:      words.Text("Nothing is wrong.", "一切正常。"),
	causes.Done:    words.Text("It has ended.", "它已经结束。"),
	causes.Unknown: words.Text("Too little can be seen to tell.", "能看到的太少，无法判断。"),
}

// The headings of a report for people.
var (
	whySeen    = words.Text("seen", "证据")
	whyClock   = words.Text("clock", "计时")
	whyNext    = words.Text("The next try comes in about %s.", "大约 %s 后再试。")
	whyChain   = words.Text("waits", "等待")
	whyKubectl = words.Text("kubectl", "kubectl")
	whyRefute  = words.Text("unless", "除非")
	whyDo      = words.Text("do", "处理")
	whyWhere   = words.Text("where", "位置")
	whyOf      = words.Text("a consequence of: ", "它是后果，原因是：")
	whyUnseen  = words.Text("Not seen:", "没有看到：")
)

// writeReport prints a report for people.
func writeReport(w io.Writer, r *causes.Report, l words.Lang) {
	fmt.Fprintf(w, "%s  %s  %s %s\n", words.Clean(r.Pod.String()), r.Verdict, r.Phase, words.Took(r.Taken.Sub(r.Since)))
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, summary(r, l))
	}
	for i := range r.Findings {
		fmt.Fprintln(w)
		writeFinding(w, i+1, r, l)
	}
	writeUnseen(w, r.Unseen, l)
}

// writeUnseen prints what could not be seen.
func writeUnseen(w io.Writer, unseen []evidence.Unseen, l words.Lang) {
	if len(unseen) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", l.In(whyUnseen))
	for _, u := range unseen {
		fmt.Fprintf(w, "  %s %s: %s\n", u.Source, words.OneLine(u.What), words.OneLine(strings.TrimSuffix(u.Why+": "+u.Message, ": ")))
	}
}

func writeFinding(w io.Writer, n int, r *causes.Report, l words.Lang) {
	f := &r.Findings[n-1]
	fmt.Fprintf(w, "%d. %s  (%s, %s)\n", n, f.Title(l), f.Cause.ID, f.Confidence)
	if f.Of != "" {
		fmt.Fprintf(w, "   %s%s\n", l.In(whyOf), f.Of)
	}
	fmt.Fprintf(w, "   %s\n", f.Sentence(l))
	line := func(head probes.Text, text string) {
		if text != "" {
			fmt.Fprintf(w, "   %-8s %s\n", l.In(head), text)
		}
	}
	for i, e := range f.Evidence {
		head := whySeen
		if i > 0 {
			head = probes.Text{}
		}
		text := words.OneLine(e.Where) + ": " + words.Cut(words.OneLine(e.Text), 400) + "  [" + string(e.Source)
		if a := age(e.At, r.Taken); a != "" {
			text += ", " + a
		}
		fmt.Fprintf(w, "   %-8s %s]\n", l.In(head), text)
	}
	line(whyChain, f.Chain(l))
	line(whyClock, f.Clock(l))
	if f.Next.After(r.Taken) {
		line(probes.Text{}, fmt.Sprintf(l.In(whyNext), left(f.Next.Sub(r.Taken))))
	}
	line(whyKubectl, f.Shows(l))
	line(whyRefute, f.Refute(l))
	line(whyWhere, f.Cause.Where)
	for _, d := range f.Advice(l) {
		line(whyDo, strings.TrimSpace(d.Text))
		if d.Run != "" {
			fmt.Fprintf(w, "   %-8s   %s\n", "", d.Run)
		}
	}
}
