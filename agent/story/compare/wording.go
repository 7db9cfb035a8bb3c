package compare

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Names returns the shortest names that tell the two pods apart.
func (r *Result) Names() (a, b string) {
	x, y := r.A.Pod, r.B.Pod
	switch {
	case x.NamespacedName() == y.NamespacedName():
		return words.Clean(x.Name) + " (1)", words.Clean(y.Name) + " (2)"
	case x.Namespace == y.Namespace:
		return words.Clean(x.Name), words.Clean(y.Name)
	}
	return words.Clean(x.NamespacedName()), words.Clean(y.NamespacedName())
}

// Two times count as equally long if they differ by no more than the part alikeShare of the longer one, or by no more
// than alikeTime.
const (
	alikeShare = 10
	alikeTime  = 100 * time.Millisecond
)

// Verdict returns the result of the comparison in a sentence: how long both took, and where most of the difference
// comes from.
func (r *Result) Verdict(l words.Lang) string {
	if missing := r.missing(l); missing != "" {
		return missing
	}
	a, b := r.Names()
	both := l.Inf([...]probes.Text{
		Creation:    words.Text("%s came in %s and %s in %s", "%s 创建用时 %s，%s 创建用时 %s"),
		Termination: words.Text("%s ended in %s and %s in %s", "%s 终止用时 %s，%s 终止用时 %s"),
		All:         words.Text("%s was there for %s and %s for %s", "%s 存在了 %s，%s 存在了 %s"),
	}[r.A.Part], a, span(l, r.A), b, span(l, r.B))
	more := r.B.Took - r.A.Took - (r.B.Held - r.A.Held)
	if more.Abs() < alikeTime || more.Abs() < max(r.A.Took, r.B.Took)/alikeShare {
		return both + l.Inf(words.Text(": about the same, apart from holds", "：除去停住的时间，两者差不多"))
	}
	for _, t := range r.Times {
		if t.More() > 0 == (more > 0) && t.More() != 0 {
			return both + l.Inf(words.Text(": %s of it in %s", "：相差的时间里有 %s 用在：%s"), words.Took(t.More().Abs()), t.Text(l))
		}
	}
	return both
}

// Begun reports whether both pods have come to the part.
func (r *Result) Begun() bool { return r.A.Begun && r.B.Begun }

// missing names the pods that have not come to the part; empty: both have.
func (r *Result) missing(l words.Lang) string {
	a, b := r.Names()
	switch {
	case r.Begun():
		return ""
	case r.B.Begun:
		return l.Inf(words.Text("%s has not begun to end", "%s 还没有开始终止"), a)
	case r.A.Begun:
		return l.Inf(words.Text("%s has not begun to end", "%s 还没有开始终止"), b)
	}
	return l.Inf(words.Text("neither %s nor %s has begun to end", "%s 与 %s 都还没有开始终止"), a, b)
}

// span returns how long a part took, or has taken so far.
func span(l words.Lang, s *Story) string {
	out := words.Took(s.Took)
	if !s.Done {
		out = l.Inf(words.Text("%s so far", "%s（尚未结束）"), out)
	}
	if s.Held > 0 {
		out += l.Inf(words.Text(" (%s of it held)", "（其中停住 %s）"), words.Took(s.Held))
	}
	return out
}

// Text returns the step's title, and what the step is about.
func (k Key) Text(l words.Lang) string {
	switch {
	case k.Step == "":
		return l.Inf(words.Text("no call: the waits between turns", "调用之外：两轮之间的等待"))
	case k.Of == "":
		return words.Clean(k.Step)
	}
	what, name, _ := strings.Cut(k.Of, " ")
	of := map[string]probes.Text{
		"container": words.Text("%s of container %s", "%s（容器 %s）"),
		"image":     words.Text("%s of image %s", "%s（镜像 %s）"),
		"volume":    words.Text("%s of volume %s", "%s（卷 %s）"),
	}[what]
	return l.Inf(of, words.Clean(k.Step), words.Clean(name))
}

// Parting returns a sentence about where the stories part first, and what failed first in only one of them.
func (r *Result) Parting(l words.Lang) string {
	if !r.Begun() {
		return ""
	}
	if r.Parts < 0 {
		return l.In(words.Text("Both did the same steps, with the same outcome.", "两者执行了相同的步骤，结果也相同。"))
	}
	p := &r.Pairs[r.Parts]
	where, what, who := p.Turn.Text(l), p.Step().Key.Text(l), r.whose(r.Parts)
	if r.Parts == r.Fails {
		return l.Inf(words.Text("They part in %s: %s failed in %s only.", "两者从%s开始不同：%s 只在 %s 失败。"), where, what, who) + r.because(l)
	}
	out := l.Inf(words.Text("They part in %s: only %s has %s.", "两者从%s开始不同：只有 %s 有 %s。"), where, who, what)
	if r.Fails >= 0 {
		f := &r.Pairs[r.Fails]
		out += l.Inf(words.Text(" The first failure is in %s: %s, in %s.", "最先失败的在%s：%s（%s）。"), f.Turn.Text(l), f.Step().Key.Text(l), r.whose(r.Fails)) + r.because(l)
	}
	return out
}

// whose returns the name of the pod that alone has a pair's step, or in which alone it failed.
func (r *Result) whose(pair int) string {
	a, b := r.Names()
	p := &r.Pairs[pair]
	if p.B == nil || failed(p.A) && !failed(p.B) {
		return a
	}
	return b
}

// because returns the error of the step at Fails.
func (r *Result) because(l words.Lang) string {
	for _, s := range []*Step{r.Pairs[r.Fails].A, r.Pairs[r.Fails].B} {
		if failed(s) && s.Error != "" {
			return l.Inf(words.Text(" Its error: %s", "错误：%s"), words.OneLine(s.Error))
		}
	}
	return ""
}

// Text returns what a turn is called.
func (t *Turn) Text(l words.Lang) string {
	switch t.Kind {
	case "":
		return l.Inf(words.Text("what comes before the worker", "进入 worker 之前"))
	case unseen:
		return l.Inf(words.Text("the calls that were seen", "看到的调用"))
	case afterLast:
		return l.Inf(words.Text("what comes after the worker", "离开 worker 之后"))
	}
	name := map[string]probes.Text{
		string(probes.TurnCreate):      words.Text("turn %d, create", "第 %d 轮（创建）"),
		string(probes.TurnSync):        words.Text("turn %d, sync", "第 %d 轮（同步）"),
		string(probes.TurnTerminating): words.Text("turn %d, terminating", "第 %d 轮（终止中）"),
		string(probes.TurnTerminated):  words.Text("turn %d, terminated", "第 %d 轮（已终止）"),
	}[t.Kind]
	return l.Inf(name, t.N)
}

// Line is one line of a comparison as a table: what it is about, how that was in the first and in the second story,
// and how much more it was in the second.
type Line struct {
	// A Heading has only What. At a Marked line the stories differ.
	Heading, Marked   bool
	What, A, B, Other string
}

// leastTime is by how much a step's times must differ for a line of its own.
const leastTime = time.Millisecond

// Lines returns the comparison as a table: where the time went, and the steps in which the stories differ. Each of
// these two has at most most lines.
func (r *Result) Lines(l words.Lang, most int) (out []Line) {
	if !r.Begun() {
		return nil
	}
	heading := func(t probes.Text) { out = append(out, Line{Heading: true, What: l.Inf(t)}) }
	heading(words.Text("Where the time went", "时间用在哪里"))
	out = append(out, Line{What: r.A.Part.Text(l), A: words.Took(r.A.Took), B: words.Took(r.B.Took), Other: more(r.B.Took - r.A.Took)})
	if r.A.Held+r.B.Held > 0 {
		out = append(out, Line{What: l.Inf(words.Text("held by a person", "被人停住")), A: took(r.A.Held), B: took(r.B.Held), Other: more(r.B.Held - r.A.Held)})
	}
	n := 0
	for i := range r.Times {
		t := &r.Times[i]
		if t.More().Abs() < leastTime || n == most {
			break
		}
		n++
		out = append(out, Line{What: t.Text(l), A: calls(t.A, t.CallsA), B: calls(t.B, t.CallsB), Other: more(t.More())})
	}
	heading(words.Text("Steps that differ", "不同的步骤"))
	in := ""
	n = 0
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if !p.Differs() {
			continue
		}
		if n == most {
			out = append(out, Line{What: l.Inf(words.Text("… and more", "……还有更多"))})
			break
		}
		n++
		if turn := p.Turn.Text(l); turn != in {
			in = turn
			out = append(out, Line{What: turn + l.In(words.Text(":", "："))})
		}
		out = append(out, Line{Marked: i == r.Parts, What: "  " + p.Step().Key.Text(l), A: outcome(l, p.A), B: outcome(l, p.B)})
	}
	if n == 0 {
		out = append(out, Line{What: l.Inf(words.Text("none", "没有"))})
	}
	if r.A.Cut || r.B.Cut {
		out = append(out, Line{What: l.Inf(words.Text("Only the first %d calls of a pod were looked at.", "每个 Pod 只看了前 %d 次调用。"), mostSteps)})
	}
	return out
}

func took(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return words.Took(d)
}

func calls(d time.Duration, n int) string {
	switch {
	case n == 0 && d == 0:
		return "-"
	case n > 1:
		return fmt.Sprintf("%s (%d)", words.Took(d), n)
	}
	return words.Took(d)
}

func more(d time.Duration) string {
	if d < 0 {
		return "-" + words.Took(-d)
	}
	return "+" + words.Took(d)
}

func outcome(l words.Lang, s *Step) string {
	switch {
	case s == nil:
		return "-"
	case s.Failed:
		return l.Inf(words.Text("failed", "失败"))
	}
	return words.Took(s.Took)
}

// Cell pads a text of a table to the width of its column, in a terminal's cells, and cuts a longer one.
func Cell(s string, width int) string {
	s = ansi.Truncate(s, width, "...")
	return s + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}
