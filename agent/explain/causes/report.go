package causes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Report is the result of Explain.
type Report struct {
	Pod evidence.Name
	// State is the verdict on the pod, and Since when it began to hold. Findings have no say in them.
	State life.State
	Since time.Time
	Phase Phase
	// Whereabouts is where the pod is: what goes on for it, or what it waits for.
	Whereabouts *Finding
	// Findings are the causes, the most specific first, and their consequences after them. Those of a pod that runs say
	// what went wrong lately.
	Findings []Finding
	// Victims are the other pods that the culprit of the first finding keeps, as far as they were looked at.
	Victims []evidence.Name
	// Columns are what four places have of the pod; nil: it is about something else than a pod.
	Columns *columns.Table
	// Restart is what has changed for the pod since its kubelet was started; nil: nothing, or that was long ago.
	Restart *columns.Restart
	// Edits are what somebody changed before, the newest first.
	Edits []Edit
	// Stack is the last stack that a breakpoint kept of the pod; nil: none did.
	Stack  *evidence.Stack
	Unseen []evidence.Unseen
	Taken  time.Time

	unknown bool
}

// Unknown is the word for the state of a pod of which nothing is known.
const Unknown = "unknown"

// Word returns the state's word, as `podstep pods` has it, or Unknown.
func (r *Report) Word() string {
	if r.unknown {
		return Unknown
	}
	return r.State.String()
}

// Wrong reports whether something keeps the pod from going on: it is held or stuck, or a cause is certain that does not
// pass by itself.
func (r *Report) Wrong() bool {
	if r.State <= life.Stuck {
		return true
	}
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Confidence == Certain && !f.Cause.Fine })
}

// Open reports whether the report leaves something open: no cause is certain.
func (r *Report) Open() bool {
	if len(r.Findings) > 0 {
		return r.Findings[0].Confidence != Certain
	}
	return r.unknown
}

// Missed selects the sources that could not be read and that the reader should be told about. A
// source that does not exist, such as an agent, is worth a word only where a report leaves
// something open.
func Missed(unseen []evidence.Unseen, open bool) []evidence.Unseen {
	out := slices.DeleteFunc(slices.Clone(unseen), func(u evidence.Unseen) bool {
		return !open && u.Why == evidence.Absent || slices.Contains(ofEveryPod, u.What)
	})
	slices.SortStableFunc(out, func(a, b evidence.Unseen) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Why, b.Why), cmp.Compare(a.What, b.What))
	})
	return out
}

// ofEveryPod are objects that the control plane makes for every pod. They say nothing about one.
var ofEveryPod = []string{"configmaps/kube-root-ca.crt", "serviceaccounts/default"}

// shows reports whether a finding has an event of the story as its evidence.
func (r *Report) shows(seq uint64) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Seq == seq })
	})
}

// First returns the first cause if it is more than possible; nil: there is none.
func (r *Report) First() *Finding {
	if len(r.Findings) == 0 || r.Findings[0].Confidence == Possible {
		return nil
	}
	return &r.Findings[0]
}

// Main returns what is said of the pod first: the first cause, or where the pod is if no cause is more than possible.
func (r *Report) Main() *Finding {
	if f := r.First(); f != nil {
		return f
	}
	return r.Whereabouts
}

// Summary returns the report in a sentence or two: the first cause, or where the pod is if there is no cause that is more
// than possible.
func (r *Report) Summary(l words.Lang) string {
	f := r.First()
	switch {
	case f != nil:
		return l.Sentences(append([]string{f.Sentence(l)}, r.triesOf(f, l)...)...)
	case r.unknown && len(r.Findings) > 0:
		return r.Findings[0].Sentence(l)
	case r.Whereabouts.Clock(l) != "":
		return l.Inf(words.Text("%s (%s)", "%s（%s）"), r.Whereabouts.Sentence(l), r.Whereabouts.Clock(l))
	case r.State == life.Stuck:
		return l.Sentences(r.Whereabouts.Sentence(l), l.In(words.Text("That is longer than usual.", "这比平常久。")))
	}
	return r.Whereabouts.Sentence(l)
}

// triesOf says how often a finding failed, and when the next try comes.
func (r *Report) triesOf(f *Finding, l words.Lang) (out []string) {
	if f.Tries > 1 {
		out = append(out, l.Inf(words.Text("Failed %d times.", "已失败 %d 次。"), f.Tries))
	}
	if f.Next.After(r.Taken) {
		out = append(out, l.Inf(words.Text("Next try in %s.", "%s 后再试。"), words.Took(f.Next.Sub(r.Taken))))
	}
	return out
}

// Confidence is how sure a finding is.
type Confidence string

// The confidences.
const (
	Certain  Confidence = "certain"  // whoever decides says so now
	Likely   Confidence = "likely"   // it was said lately, or follows from what was
	Possible Confidence = "possible" // it fits, and other causes would too
)

// In returns the confidence in a reader's language.
func (c Confidence) In(l words.Lang) string {
	return l.In(map[Confidence]probes.Text{
		Certain: words.Text("certain", "确定"), Likely: words.Text("likely", "很可能"), Possible: words.Text("possible", "可能"),
	}[c])
}

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
	// Subject is the part of the pod that the finding is about: a container, a volume; empty: the pod.
	Subject    string
	Args       Args
	Confidence Confidence
	Since      time.Time // zero: not known
	// Next is when the next try comes; zero: not known. Tries is how often it failed in a row; 0: not known.
	Next     time.Time
	Tries    int
	Evidence []Evidence
	// Retries is whether the agent can end the back-off that the pod is in for this cause.
	Retries bool
	// More are sentences that follow the cause's own, such as which label no node has. Nearest is the last one: what the
	// nearest nodes lack; empty: not known.
	More    []probes.Text
	Nearest probes.Text
	// Nodes is how many nodes a scheduler refuses for this cause; 0: no scheduler refuses any
	// for it. Of two causes of one rank, the one with more nodes comes first.
	Nodes int
	// Culprit is what keeps the pod; nil: that is the pod itself, or is not known.
	Culprit *Culprit
	// Reading says what is different in the node's kubelet from the one that was read for the cause; nil: nothing, or not known.
	Reading *Reading
	// Of is the id of the finding whose consequence this one is; empty: it is a cause
	// of its own.
	Of string

	// weight puts findings of one rank in order that podstep has held against each node, the largest first.
	weight int
}

// Evidence is an item that shows a finding.
type Evidence struct {
	Source evidence.Source
	// Where says where it is seen, such as status, event FailedMount of Pod web, goroutine 12; and Text what it says.
	Where probes.Text
	Text  probes.Text
	At    time.Time // when it was so; zero: as the snapshot was taken
	Seq   uint64    // of the event of the story; 0: it is none
	Step  string    // of the catalogue; empty: none
}

// Title, Sentence and the others are the cause's texts with the finding's arguments
// in them.
func (f *Finding) Title(l words.Lang) string { return f.in(l, f.Cause.Title) }

// Sentence is the cause in one sentence, with what More and Nearest add.
func (f *Finding) Sentence(l words.Lang) string {
	out := []string{f.in(l, f.Cause.Text)}
	for _, t := range append(slices.Clone(f.More), f.Nearest) {
		out = append(out, words.OneLine(words.Cut(l.In(t), maxMore)))
	}
	return l.Sentences(out...)
}

// maxMore bounds one further sentence of a finding, in characters.
const maxMore = 400

// Refute returns what would refute the cause.
func (f *Finding) Refute(l words.Lang) string { return f.in(l, f.Cause.Refute) }

// Clock returns which timer runs.
func (f *Finding) Clock(l words.Lang) string { return f.in(l, f.Cause.Clock) }

// Chain returns what waits for what.
func (f *Finding) Chain(l words.Lang) string { return f.in(l, f.Cause.Chain) }

// Shows returns what kubectl shows of the cause.
func (f *Finding) Shows(l words.Lang) string { return f.in(l, f.Cause.Shows) }

// Where returns the place in the kubelet's code, or the object, that the cause is about; empty: it has none.
func (f *Finding) Where() string { return strings.TrimPrefix(f.Cause.Where, nowhere) }

// Fact is one thing that is known of a finding, other than its sentence.
type Fact struct {
	Label string // such as clock
	Text  string
	// Aside says who said it and how long ago; empty: the cause itself says it.
	Aside string
	// Run is a command that can be pasted, or empty.
	Run string
	// Seq is the number of the event of the story that the fact shows; 0: it shows none. Tour
	// is the guided walk that the fact names; empty: it names none. Culprit is what the fact names; nil: nothing.
	Seq     uint64
	Tour    string
	Culprit *Culprit
}

// nowhere is the Where of causes that have no place.
const nowhere = "-"

// maxShown bounds an evidence's text in a fact, in characters.
const maxShown = 400

// Facts returns what is known of a finding of a report, in the order in which it is best read.
func (r *Report) Facts(f *Finding, l words.Lang) (out []Fact) {
	add := func(label probes.Text, fact Fact) {
		if fact.Text != "" {
			fact.Label = l.In(label)
			out = append(out, fact)
		}
	}
	if f.Culprit != nil {
		add(words.Text("culprit", "祸首"), Fact{Text: f.Culprit.In(l), Culprit: f.Culprit})
	}
	if len(r.Victims) > 0 && f == &r.Findings[0] {
		add(words.Text("others", "其他"), Fact{Text: r.victims(l)})
	}
	add(words.Text("because of", "起因"), Fact{Text: r.titleOf(f.Of, l)})
	for i := range f.Evidence {
		e := &f.Evidence[i]
		add(words.Text("seen", "证据"), Fact{Text: words.OneLine(l.In(e.Where)) + l.In(colon) + f.shown(i, l), Aside: r.aside(e), Seq: e.Seq})
	}
	add(words.Text("waits for", "等待"), Fact{Text: f.Chain(l)})
	add(words.Text("clock", "计时"), Fact{Text: f.Clock(l)})
	if f.Tries > 1 {
		add(words.Text("tried", "已尝试"), Fact{Text: l.Inf(words.Text("failed %d times", "失败 %d 次"), f.Tries)})
	}
	if f.Next.After(r.Taken) {
		add(words.Text("next try", "下次重试"), Fact{Text: l.Inf(words.Text("in about %s", "大约 %s 后"), words.Took(f.Next.Sub(r.Taken)))})
	}
	add(words.Text("kubectl", "kubectl"), Fact{Text: f.Shows(l)})
	add(words.Text("unless", "除非"), Fact{Text: f.Refute(l)})
	add(words.Text("where", "位置"), Fact{Text: f.Where()})
	add(words.Text("where", "位置"), Fact{Text: f.Reading.In(l)})
	for _, d := range f.Advice(l) {
		add(words.Text("do", "处理"), Fact{Text: d.Text, Run: d.Run})
	}
	add(words.Text("walk", "导览"), Fact{Text: f.Cause.Tour, Tour: f.Cause.Tour})
	return out
}

// colon stands between where evidence is seen and what it says.
var colon = words.Text(": ", "：")

// leastSame is how long the end of a text is at least that is not written again, in bytes.
const leastSame = 40

// shown returns the text of evidence for people. Runtime, kubelet and API server hand on one error, each with words of
// its own before it: what evidence before has shown already is not shown again.
func (f *Finding) shown(i int, l words.Lang) string {
	text := words.OneLine(l.In(f.Evidence[i].Text))
	for from := 0; len(text)-from >= leastSame; {
		for j := range i {
			if strings.HasSuffix(words.OneLine(l.In(f.Evidence[j].Text)), text[from:]) {
				return text[:from] + l.In(words.Text("as above", "同上"))
			}
		}
		next := strings.Index(text[from:], ": ")
		if next < 0 {
			break
		}
		from += next + len(": ")
	}
	return words.Cut(text, maxShown)
}

// titleOf returns the title of the report's finding with an id; empty: it has none.
func (r *Report) titleOf(id string, l words.Lang) string {
	for i := range r.Findings {
		if r.Findings[i].Cause.ID == id {
			return r.Findings[i].Title(l)
		}
	}
	return ""
}

func (r *Report) aside(e *Evidence) string {
	if e.At.IsZero() {
		return string(e.Source)
	}
	return string(e.Source) + " " + words.Took(r.Taken.Sub(e.At))
}

// Do is one thing to do; Run is a command that can be pasted, or empty.
type Do struct {
	Text string `json:"text"`
	Run  string `json:"run,omitempty"`
}

// Advice returns what to do, the first thing first.
func (f *Finding) Advice(l words.Lang) (out []Do) {
	all := f.Cause.Next
	if f.Retries {
		all = append(slices.Clone(all), retryAdvice)
	}
	for _, a := range all {
		if run, ok := f.command(a.Run); ok {
			out = append(out, Do{f.in(l, a.Text), run})
		}
	}
	return out
}

// maxArgument bounds an argument in a text, in characters.
const maxArgument = 300

// in fills a text. An argument that is not known leaves no gap.
func (f *Finding) in(l words.Lang, t probes.Text) string {
	text := probes.Fill(l.In(t), func(name string) string {
		return words.Cut(words.OneLine(f.Args[name]), maxArgument)
	})
	return strings.TrimSpace(strings.ReplaceAll(text, "  ", " "))
}

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// command puts the arguments into a command. ok is false if one of them is not known: half a
// command is of no use.
func (f *Finding) command(run string) (out string, ok bool) {
	ok = true
	out = probes.Fill(run, func(name string) string {
		v := words.OneLine(f.Args[name])
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
