package compare

import (
	"fmt"
	"maps"
	"strings"
	"time"

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

// brief returns the step's title, and the name of what it is about.
func (k Key) brief(l words.Lang) string {
	if k.Step == "" {
		return l.Inf(words.Text("no call, between turns", "两轮之间，没有调用"))
	}
	_, name, _ := strings.Cut(k.Of, " ")
	return words.Clean(strings.TrimSpace(k.Step + " " + name))
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
	// TookA and TookB are the times of a line that is about times.
	TookA, TookB time.Duration
}

// leastTime is by how much a step's times must differ for a line of its own, and leastShare by what part of the longer
// story.
const (
	leastTime  = time.Millisecond
	leastShare = 100
)

// Lines returns the comparison as a table: where the time went, and the steps in which the stories differ. Each of
// these two has at most most lines. What hardly differs is one line.
func (r *Result) Lines(l words.Lang, most int) (out []Line) {
	if !r.Begun() {
		return nil
	}
	out = append(r.timeLines(l, most), Line{Heading: true, What: l.Inf(words.Text("Steps that differ", "不同的步骤"))})
	differ := r.stepLines(l, most)
	if len(differ) == 0 {
		differ = []Line{{What: l.Inf(words.Text("none", "没有"))}}
	}
	out = append(out, differ...)
	if r.A.Cut || r.B.Cut {
		out = append(out, Line{What: l.Inf(words.Text("Only the first %d calls of a pod were looked at.", "每个 Pod 只看了前 %d 次调用。"), mostSteps)})
	}
	return out
}

// timeLines say where the time went.
func (r *Result) timeLines(l words.Lang, most int) []Line {
	line := func(what, a, b string, x, y time.Duration) Line {
		return Line{What: what, A: a, B: b, Other: more(y - x), TookA: x, TookB: y}
	}
	out := []Line{
		{Heading: true, What: l.Inf(words.Text("Where the time went", "时间用在哪里"))},
		line(r.A.Part.Text(l), words.Took(r.A.Took), words.Took(r.B.Took), r.A.Took, r.B.Took),
	}
	if r.A.Held+r.B.Held > 0 {
		out = append(out, line(l.Inf(words.Text("held by a person", "被人停住")), took(r.A.Held), took(r.B.Held), r.A.Held, r.B.Held))
	}
	least := max(leastTime, max(r.A.Took, r.B.Took)/leastShare)
	rest, apart := 0, time.Duration(0)
	var restA, restB time.Duration
	for i := range r.Times {
		t := &r.Times[i]
		switch {
		case t.More().Abs() >= least && i < most:
			out = append(out, line(t.brief(l), calls(t.A, t.CallsA), calls(t.B, t.CallsB), t.A, t.B))
		case t.A+t.B > 0:
			rest, restA, restB, apart = rest+1, restA+t.A, restB+t.B, max(apart, t.More().Abs())
		}
	}
	if rest > 0 {
		out = append(out, line(l.Inf(words.Text("%d more, by up to %s", "另有 %d 项，各差至多 %s"), rest, words.Took(apart)), took(restA), took(restB), restA, restB))
	}
	return out
}

// stepLine is a line about a step that differs, or about all steps of a container that only one pod has in a turn.
type stepLine struct {
	Line
	container string
	steps     int
	a, b      time.Duration
}

// stepLines say in which steps the stories differ, turn by turn.
func (r *Result) stepLines(l words.Lang, most int) (out []Line) {
	var lines []*stepLine
	in, alone, turns := "", map[string]*stepLine{}, r.turnsAlone() // alone: by turn, pod and container
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if !p.Differs() {
			continue
		}
		turn := p.Turn.Text(l)
		if whole := turns[p.Turn]; whole != nil {
			if whole.What == "" {
				whole.What, whole.A, whole.B = l.Inf(words.Text("%s: %d steps", "%s：%d 步"), turn, whole.steps), took(whole.a), took(whole.b)
				lines = append(lines, &stepLine{Line: whole.Line})
			}
			continue
		}
		if turn != in {
			in = turn
			lines = append(lines, &stepLine{Line: Line{What: turn + l.In(words.Text(":", "："))}})
		}
		container := containerOf(p)
		side := fmt.Sprint(in, p.A == nil, container)
		line := alone[side]
		if line == nil || container == "" {
			line = &stepLine{Line: Line{What: "  " + p.Step().Key.brief(l), A: outcome(l, p.A), B: outcome(l, p.B)}, container: container}
			lines, alone[side] = append(lines, line), line
		}
		line.steps++
		line.a, line.b, line.Marked = line.a+tookOf(p.A), line.b+tookOf(p.B), line.Marked || i == r.Parts
	}
	for n, line := range lines {
		if n >= most {
			return append(out, Line{What: l.Inf(words.Text("… and %d more", "……还有 %d 行"), len(lines)-n)})
		}
		if line.steps > 1 {
			line.What = l.Inf(words.Text("  container %s: %d steps", "  容器 %s：%d 步"), line.container, line.steps)
			line.A, line.B = took(line.a), took(line.b)
		}
		out = append(out, line.Line)
	}
	return out
}

// turnsAlone returns the turns that only one story has and in which nothing failed. They have no names yet.
func (r *Result) turnsAlone() map[*Turn]*stepLine {
	out, sides := map[*Turn]*stepLine{}, map[*Turn][2]bool{}
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if out[p.Turn] == nil {
			out[p.Turn] = &stepLine{}
		}
		line, side := out[p.Turn], sides[p.Turn]
		line.steps, line.a, line.b = line.steps+1, line.a+tookOf(p.A), line.b+tookOf(p.B)
		line.Marked = line.Marked || i == r.Parts
		sides[p.Turn] = [2]bool{side[0] || p.A != nil || failed(p.B), side[1] || p.B != nil || failed(p.A)}
	}
	maps.DeleteFunc(out, func(t *Turn, _ *stepLine) bool { return sides[t] == [2]bool{true, true} })
	return out
}

// containerOf returns the container that a pair is about if only one story has the step, and if it has not failed there.
func containerOf(p *Pair) string {
	name, is := strings.CutPrefix(p.Step().Of, containerMark)
	if !is || p.A != nil && p.B != nil || p.Step().Failed {
		return ""
	}
	return words.Clean(name)
}

func tookOf(s *Step) time.Duration {
	if s == nil {
		return 0
	}
	return s.Took
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
