package causes

import (
	"regexp"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Report is what comes of a snapshot.
type Report struct {
	Pod     evidence.Name
	Verdict Verdict
	Phase   Phase
	// Since is when the pod came into its phase.
	Since time.Time
	// Waits is what a pod waits for that is merely young; nil for others.
	Waits *Wait
	// Findings are the causes, the most specific first, and their consequences after
	// them.
	Findings []Finding
	Unseen   []evidence.Unseen
	Taken    time.Time
}

// Verdict is whether something is wrong.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"      // nothing is wrong
	Young   Verdict = "young"   // it is on its way, and not longer than usual
	Stuck   Verdict = "stuck"   // a cause is found, or it is on its way for longer than usual
	Done    Verdict = "done"    // it has ended as it should
	Unknown Verdict = "unknown" // too little could be seen to tell
)

// Wrong reports whether something is wrong with the pod.
func (r *Report) Wrong() bool { return r.Verdict == Stuck }

// Wait is what a pod waits for that normally comes.
type Wait struct {
	For   probes.Text
	Usual probes.Text // how long that usually takes
}

// Confidence is how sure a finding is.
type Confidence string

// The confidences.
const (
	Certain  Confidence = "certain"  // whoever decides says so now
	Likely   Confidence = "likely"   // it was said lately, or follows from what was
	Possible Confidence = "possible" // it fits, and other causes would too
)

func (c Confidence) rank() int {
	switch c {
	case Certain:
		return 3
	case Likely:
		return 2
	case Possible:
		return 1
	}
	return 0
}

// Args are the arguments of a cause's texts by name, made safe for a terminal where
// they are shown.
type Args map[string]string

// Finding is a cause that was found.
type Finding struct {
	Cause *Cause
	// Subject is what of the pod it is about: a container, a volume; empty: the pod.
	Subject    string
	Args       Args
	Confidence Confidence
	Since      time.Time // zero: not known
	// Next is when the next try comes; zero: not known.
	Next     time.Time
	Evidence []Evidence
	// Nodes is how many nodes a scheduler refuses for it; 0: it is about something else.
	// Of two causes of one rank, that of more nodes comes first.
	Nodes int
	// Of is the id of the finding whose consequence this one is; empty: it is a cause
	// of its own.
	Of string
}

// Evidence is an item that shows a finding.
type Evidence struct {
	Source evidence.Source
	Where  string    // such as pods/web status, event FailedMount, goroutine 12
	Text   string    // what it says
	At     time.Time // when it was so; zero: as the snapshot was taken
	Seq    uint64    // of the event of the story; 0: it is none
	Step   string    // of the catalogue; empty: none
}

// Title, Sentence and the others are the cause's texts with the finding's arguments
// in them.
func (f *Finding) Title(l words.Lang) string { return f.in(l, f.Cause.Title) }

// Sentence is the cause in one sentence.
func (f *Finding) Sentence(l words.Lang) string { return f.in(l, f.Cause.Text) }

// Refute is what would refute it.
func (f *Finding) Refute(l words.Lang) string { return f.in(l, f.Cause.Refute) }

// Clock is which timer runs.
func (f *Finding) Clock(l words.Lang) string { return f.in(l, f.Cause.Clock) }

// Chain is what waits for what.
func (f *Finding) Chain(l words.Lang) string { return f.in(l, f.Cause.Chain) }

// Shows is what kubectl shows of it.
func (f *Finding) Shows(l words.Lang) string { return f.in(l, f.Cause.Shows) }

// Do is one thing to do; Run is a command that can be pasted, or empty.
type Do struct {
	Text string `json:"text"`
	Run  string `json:"run,omitempty"`
}

// Advice is what to do, the first thing first.
func (f *Finding) Advice(l words.Lang) (out []Do) {
	for _, a := range f.Cause.Next {
		if run, ok := f.command(a.Run); ok {
			out = append(out, Do{f.in(l, a.Text), run})
		}
	}
	return out
}

var argument = regexp.MustCompile(`\{(\w+)\}`)

// maxArgument bounds an argument in a text, in characters.
const maxArgument = 300

func (f *Finding) in(l words.Lang, t probes.Text) string {
	return argument.ReplaceAllStringFunc(l.In(t), func(name string) string {
		return words.Cut(words.OneLine(f.Args[strings.Trim(name, "{}")]), maxArgument)
	})
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// command puts the arguments into a command. ok is false if one of them is not
// known: half a command is of no use.
func (f *Finding) command(run string) (out string, ok bool) {
	ok = true
	out = argument.ReplaceAllStringFunc(run, func(name string) string {
		v := words.OneLine(f.Args[strings.Trim(name, "{}")])
		switch {
		case v == "":
			ok = false
		case !plainWord.MatchString(v):
			return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
		}
		return v
	})
	return out, ok
}
