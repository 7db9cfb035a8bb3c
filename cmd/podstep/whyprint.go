package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// whyJSON is a report as scripts get it.
type whyJSON struct {
	Pod      evidence.Name `json:"pod"`
	State    string        `json:"state"` // as `podstep pods` has it, or unknown
	Phase    string        `json:"phase"`
	Since    time.Time     `json:"since"`
	Summary  string        `json:"summary"`
	Findings []findingJSON `json:"findings"`
	// Victims are the other pods that the culprit of the first finding keeps.
	Victims []evidence.Name `json:"victims,omitempty"`
	// Stack is the last stack that a breakpoint kept.
	Stack *evidence.Stack `json:"stack,omitempty"`
	// Differences are the rows in which places differ, and Columns all rows; these are there only with --columns.
	Differences []rowJSON `json:"differences,omitempty"`
	Columns     []rowJSON `json:"columns,omitempty"`
	// Restart is there if the kubelet was started within the last hour, and something has changed for the pod since.
	Restart *restartJSON `json:"restart,omitempty"`
	// Edits are what somebody changed before, the newest first.
	Edits []causes.Edit `json:"edits,omitempty"`
	// Log is there only with --logs.
	Log    *evidence.ContainerLog `json:"log,omitempty"`
	Unseen []evidence.Unseen      `json:"unseen"`
	// Rights are those that would show more.
	Rights []rightJSON `json:"missingRights,omitempty"`
}

type rightJSON struct {
	Right string `json:"right"`
	Adds  string `json:"adds"`
}

type findingJSON struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Cause      string     `json:"cause"`
	Subject    string     `json:"subject,omitempty"`
	Confidence string     `json:"confidence"`
	Since      *time.Time `json:"since,omitempty"`
	// Culprit is what keeps the pod, if that is something else than the pod.
	Culprit  *causes.Culprit `json:"culprit,omitempty"`
	Of       string          `json:"consequenceOf,omitempty"`
	Evidence []evidenceJSON  `json:"evidence"`
	Where    string          `json:"where,omitempty"`
	// Reading says what is different there in the node's kubelet; nil: nothing, or not known.
	Reading *causes.Reading `json:"whereRead,omitempty"`
	Refute  string          `json:"refutedBy,omitempty"`
	Clock   string          `json:"clock,omitempty"`
	Next    *time.Time      `json:"nextTry,omitempty"`
	Chain   string          `json:"waitsFor,omitempty"`
	Shows   string          `json:"kubectlShows,omitempty"`
	Fix     []causes.Do     `json:"fix"`
	Tour    string          `json:"tour,omitempty"`
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
		Pod: r.Pod, State: r.Word(), Phase: string(r.Phase), Since: r.Since, Summary: r.Summary(l),
		Findings: []findingJSON{}, Victims: r.Victims, Stack: r.Stack, Unseen: r.Unseen,
		Differences: newRowsJSON(r.Columns.Differing(), l), Restart: newRestartJSON(r.Restart, l), Edits: r.Edits,
	}
	if out.Unseen == nil {
		out.Unseen = []evidence.Unseen{}
	}
	for _, right := range causes.MissingRights(r.Unseen) {
		out.Rights = append(out.Rights, rightJSON{right.Right, l.In(right.Adds)})
	}
	for i := range r.Findings {
		out.Findings = append(out.Findings, newFindingJSON(&r.Findings[i], r.Taken, l))
	}
	return out
}

func newFindingJSON(f *causes.Finding, now time.Time, l words.Lang) findingJSON {
	out := findingJSON{
		ID: f.Cause.ID, Title: f.Title(l), Cause: f.Sentence(l), Subject: f.Subject, Confidence: string(f.Confidence),
		Since: known(f.Since), Culprit: f.Culprit, Of: f.Of, Evidence: []evidenceJSON{}, Where: f.Where(), Reading: f.Reading, Refute: f.Refute(l), Clock: f.Clock(l),
		Next: known(f.Next), Chain: f.Chain(l), Shows: f.Shows(l), Fix: f.Advice(l), Tour: f.Cause.Tour,
	}
	for _, e := range f.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON{e.Source, l.In(e.Where), l.In(e.Text), age(e.At, now), e.Seq, e.Step})
	}
	return out
}

// known returns nil for a time that is not known.
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

// soLong says for how long something has been so.
func soLong(l words.Lang, d time.Duration) string {
	return l.Inf(words.Text("for %s", "已 %s"), words.Took(d))
}

// stateWord returns the state of a report for people.
func stateWord(r *causes.Report, l words.Lang) string {
	if w := r.Word(); w != r.State.String() {
		return w
	}
	if r.Pod.Kind != "" && r.State == life.Idle {
		return l.In(words.Text("well", "正常"))
	}
	return l.In(r.State.Text())
}

// writeFindings prints the verdict and the findings of a report.
func writeFindings(w io.Writer, r *causes.Report, l words.Lang) {
	long := soLong(l, r.Taken.Sub(r.Since))
	if r.Pod.Kind == "" {
		long = r.Phase.In(l) + " " + long
	}
	fmt.Fprintf(w, "%s  %s  %s\n", words.Clean(r.Pod.String()), stateWord(r, l), long)
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, r.Summary(l))
	}
	for i := range r.Findings {
		fmt.Fprintln(w)
		writeFinding(w, i+1, r, l)
	}
	if r.Stack != nil {
		fmt.Fprintln(w)
		writeStack(w, r.Stack, r.Taken, l)
	}
}

// writeEdits prints what somebody changed before.
func writeEdits(w io.Writer, r *causes.Report, l words.Lang) {
	if len(r.Edits) > 0 {
		fmt.Fprintf(w, "\n%s\n", l.In(causes.EditsHeading))
	}
	for i := range r.Edits {
		fmt.Fprintf(w, "  %s  %s\n", words.OneLine(r.Edits[i].Object), r.Edits[i].In(l, r.Taken))
	}
}

// writeUnseen prints what could not be seen, and the rights that it takes.
func writeUnseen(w io.Writer, unseen []evidence.Unseen, l words.Lang) {
	if len(unseen) == 0 {
		return
	}
	rights := causes.MissingRights(unseen)
	fmt.Fprintf(w, "\n%s\n", l.In(words.Text("Not seen:", "没有看到：")))
	for len(unseen) > 0 {
		first := unseen[0]
		n := slices.IndexFunc(unseen, func(u evidence.Unseen) bool { return u.Source != first.Source || u.Why != first.Why })
		if n < 0 {
			n = len(unseen)
		}
		writeUnseenOf(w, unseen[:n])
		unseen = unseen[n:]
	}
	if len(rights) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", l.In(words.Text("Rights that would show more:", "有这些权限就能看到更多：")))
	for _, r := range rights {
		fmt.Fprintf(w, "  %s: %s\n", words.OneLine(r.Right), l.In(r.Adds))
	}
}

// writeUnseenOf prints what one source does not show for one reason.
func writeUnseenOf(w io.Writer, unseen []evidence.Unseen) {
	const few = 2
	if len(unseen) <= few {
		for _, u := range unseen {
			fmt.Fprintf(w, "  %s\n", words.OneLine(u.String()))
		}
		return
	}
	var what []string
	for _, u := range unseen {
		what = append(what, u.What)
	}
	fmt.Fprintf(w, "  %s %s: %s\n", unseen[0].Source, words.OneLine(strings.Join(what, ", ")), words.OneLine(unseen[0].Reason()))
}

func writeFinding(w io.Writer, n int, r *causes.Report, l words.Lang) {
	f := &r.Findings[n-1]
	fmt.Fprintf(w, "%d. %s  (%s, %s)\n   %s\n", n, f.Title(l), f.Cause.ID, f.Confidence.In(l), f.Sentence(l))
	last := ""
	for _, fact := range r.Facts(f, l) {
		label := fact.Label
		if label == last {
			label = ""
		}
		last = fact.Label
		text := fact.Text
		if fact.Aside != "" {
			text += "  [" + fact.Aside + "]"
		}
		fmt.Fprintf(w, "   %s %s\n", padded(label), text)
		if fact.Run != "" {
			fmt.Fprintf(w, "   %s   %s\n", padded(""), fact.Run)
		}
	}
}

// labelWidth is the width of the column of labels.
const labelWidth = 10

func padded(label string) string {
	return label + strings.Repeat(" ", max(0, labelWidth-ansi.StringWidth(label)))
}
