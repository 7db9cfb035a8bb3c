package stack

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Title is the name of the page.
var Title = words.Text("Stack and variables", "调用栈与变量")

// Overlay returns the page as the screen shows it.
func (p *Page) Overlay(st *view.Styles) *screen.Overlay {
	s := &screen.Stack{Lines: []string{p.headline()}, Error: p.refusal(), Frame: p.frame, Values: p.values(st)}
	s.Steps, s.Goroutines = p.desk.Held(p.hold), len(p.known.GetGoroutines())
	s.Logs = p.known != nil && p.desk.CanLog()
	for _, f := range p.known.GetFrames() {
		s.Frames = append(s.Frames, screen.StackFrame{Function: short(words.Clean(f.GetFunction())), Place: place(f)})
	}
	o := &screen.Overlay{Kind: screen.OverStack, Title: p.title(), Stack: s}
	if p.input != nil {
		o.Input = p.input.Draw()
	}
	p.rows, p.all = view.StackValues(o, st), len(s.Values)
	p.Move(0)
	s.Top = p.from
	return o
}

// title returns the page's title: the pod, and the goroutine if there are several.
func (p *Page) title() string {
	title := p.desk.Text(Title) + " · " + words.Clean(p.name)
	all := p.known.GetGoroutines()
	if len(all) < 2 {
		return title
	}
	at := max(0, slices.IndexFunc(all, func(g *agentpb.Goroutine) bool { return g.GetId() == p.goroutine }))
	return title + " · " + fmt.Sprintf("goroutine %d (%d/%d): %s", all[at].GetId(), at+1, len(all), words.Clean(all[at].GetStep()))
}

func (p *Page) textf(t probes.Text, args ...any) string { return fmt.Sprintf(p.desk.Text(t), args...) }

// headline says where the pod is held and how long the answer took, or that no answer has come yet.
func (p *Page) headline() string {
	step := words.Clean(p.hold.GetStep())
	if p.last != nil {
		step = words.Clean(p.last.GetStep())
	}
	at := words.Text("held at %s", "停在 %s")
	if !p.desk.Held(p.hold) {
		at = words.Text("no longer held; it was at %s", "已不再停住；之前停在 %s")
	}
	if place := p.hold.GetPlace().Written(); place != "" {
		step += ", " + words.Clean(place)
	}
	if p.going != nil && p.going.step {
		return p.textf(words.Text("it was at %s", "之前停在 %s"), step) + " · " + p.desk.Text(words.Text("on its way to the next line", "正走向下一行"))
	}
	if p.going != nil {
		return p.textf(at, step) + " · " + p.desk.Text(words.Text("waiting for the debugger", "等待调试器回答"))
	}
	return p.textf(at, step) + " · " + p.textf(words.Text("the kubelet stood still for %s for this", "kubelet 为此停了 %s"), words.Took(p.last.GetStood().AsDuration()))
}

// values returns the lines about the chosen frame, first the answer to the last question.
func (p *Page) values(st *view.Styles) (out []screen.StackValue) {
	if !p.knows() {
		return nil
	}
	heading := func(t probes.Text) { out = append(out, screen.StackValue{Heading: true, Text: p.desk.Text(t)}) }
	wrapped := func(text string) {
		for _, l := range view.OverText([]string{text}, st) {
			out = append(out, screen.StackValue{Text: l})
		}
	}
	if p.value != nil {
		heading(words.Text("value", "值"))
		wrapped(words.Clean(p.expression) + " = " + words.OneLine(p.value.GetValue().GetValue()))
	}
	out = append(out, p.source()...)
	for _, of := range []struct {
		title probes.Text
		all   []*agentpb.Variable
	}{
		{words.Text("arguments", "参数"), p.known.GetArguments()},
		{words.Text("local variables", "局部变量"), p.known.GetLocals()},
	} {
		if len(of.all) == 0 {
			continue
		}
		heading(of.title)
		for _, v := range of.all {
			out = append(out, screen.StackValue{Name: words.Clean(v.GetName()), Text: words.OneLine(v.GetValue())})
		}
	}
	switch {
	case p.known.GetWithout() != "":
		wrapped(words.OneLine(p.known.GetWithout()))
	case len(p.known.GetArguments())+len(p.known.GetLocals()) == 0:
		wrapped(p.desk.Text(words.Text("no arguments and no local variables here", "此处没有参数，也没有局部变量")))
	}
	return out
}

// around is how many lines of the source are shown before and behind the line at which a function is.
const around = 4

// source returns the kubelet's source around the line at which the chosen function is, if podstep has it.
func (p *Page) source() (out []screen.StackValue) {
	frames := p.known.GetFrames()
	if p.frame >= len(frames) {
		return nil
	}
	f := frames[p.frame]
	return sourceAround(p.desk, f.GetFunction(), f.GetFile(), int(f.GetLine()))
}

// sourceAround returns the kubelet's source around a line of a function.
func sourceAround(d Desk, function, file string, line int) (out []screen.StackValue) {
	e, ok := source.At(function, file, line)
	if !ok {
		return nil
	}
	title := d.Text(words.Text("source", "源代码")) + " · " + e.File
	if own := d.Kubelet(); own != e.Version {
		title += " · " + fmt.Sprintf(d.Text(words.Text("as it is in %s; this kubelet is %s", "%s 中的内容；这个 kubelet 是 %s")), e.Version, words.Clean(own))
	}
	out = append(out, screen.StackValue{Heading: true, Text: title})
	from, to := max(0, line-e.Line-around), min(len(e.Lines), line-e.Line+around+1)
	for i, text := range wording.Lines(strings.Join(e.Lines[from:to], "\n")) {
		number := e.Line + from + i
		point := d.Point(e.File, number)
		out = append(out, screen.StackValue{Text: text, Number: number, Here: number == line, Point: point})
		if point.Last != "" {
			out = append(out, screen.StackValue{Text: point.Last, Logged: true})
		}
	}
	return out
}

// short returns a function's name without the path of its package. Type arguments stand in brackets and have paths
// of their own.
func short(function string) string {
	name, _, _ := strings.Cut(function, "[")
	return function[strings.LastIndexByte(name, '/')+1:]
}

// sourcePath returns a file's path in the kubelet's source. Before it, a path has the directory of the build, or a module with
// its version.
func sourcePath(file string) string {
	for _, root := range []string{"/k8s.io/kubernetes/", "pkg/kubelet/"} {
		if i := strings.LastIndex(file, root); i >= 0 {
			return words.Clean(strings.TrimPrefix(file[i:], "/k8s.io/kubernetes/"))
		}
	}
	return path.Base(words.Clean(file))
}

// place returns the source line at which a function is under way; empty if unknown.
func place(f *agentpb.StackFrame) string {
	if f.GetFile() == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(words.Clean(f.GetFile())), f.GetLine())
}
