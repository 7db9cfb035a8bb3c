// Package about shows what the kubelet and the API server say about a pod: its object as the kubelet has it, its
// events, and the last lines that its containers wrote. It asks when a person wants to see one of these, and keeps
// nothing.
package about

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
)

// Asker gets what is known of a pod. A call takes a few seconds at most.
type Asker interface {
	Pod(context.Context, evidence.Name) *evidence.Snapshot
	// Logs reads the last lines of the containers of a pod that Pod was asked about.
	Logs(context.Context, *evidence.Snapshot) []evidence.ContainerLog
}

// What is the thing that a page asks for.
type What int

const (
	Object What = iota
	Logs
	Events
)

var titles = map[What]probes.Text{
	Object: words.Text("The pod as the kubelet has it", "kubelet 所持的 Pod 对象"),
	Logs:   words.Text("Last lines of its containers", "容器日志的最后几行"),
	Events: words.Text("Events of the pod", "Pod 的事件"),
}

// Page shows one of these things. It is read like any page; r asks again.
type Page struct {
	ask.Page
	ctx   context.Context
	leave context.CancelFunc
	asker Asker
	what  What
	name  evidence.Name
	lang  words.Lang
	asked int // times
}

// Open opens a page and asks. The answer comes to the page as a Msg.
func Open(ctx context.Context, lang words.Lang, asker Asker, what What, name evidence.Name) (*Page, tea.Cmd) {
	p := &Page{asker: asker, what: what, name: name, lang: lang}
	p.ctx, p.leave = context.WithCancel(ctx)
	p.Title = lang.In(titles[what]) + " · " + words.Clean(name.String())
	p.Lines = []string{lang.In(words.Text("asking", "正在查询"))}
	return p, p.ask()
}

// Key takes a key. Leaving the page cancels the question.
func (p *Page) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	if k.String() == "r" && !p.Typing() {
		return p.ask(), false
	}
	cmd, done := p.Page.Key(k)
	if done {
		p.leave()
	}
	return cmd, done
}

// Msg is an answer.
type Msg struct {
	page  *Page
	asked int
	lines []string
}

func (p *Page) ask() tea.Cmd {
	p.asked++
	asked := p.asked
	return func() tea.Msg {
		s := p.asker.Pod(p.ctx, p.name)
		switch p.what {
		case Logs:
			return Msg{p, asked, logLines(p.lang, s, p.asker.Logs(p.ctx, s))}
		case Events:
			return Msg{p, asked, eventLines(p.lang, s)}
		}
		return Msg{p, asked, objectLines(p.lang, s)}
	}
}

// Take shows an answer, unless a later question was asked.
func (m Msg) Take() {
	if m.asked == m.page.asked {
		m.page.Lines = m.lines
	}
}

// objectLines returns a pod as YAML.
func objectLines(lang words.Lang, s *evidence.Snapshot) []string {
	from, p := words.Text("from the kubelet", "来自 kubelet"), s.KubeletPod
	if p == nil {
		from, p = words.Text("from the API server: the kubelet could not be asked, or does not have it", "来自 API server：无法询问 kubelet，或 kubelet 没有它"), s.Pod
	}
	if p == nil {
		return notSeen(lang, s, evidence.Port, evidence.API)
	}
	lines := []string{
		"# " + lang.In(from) + ", " + s.Taken.Format("15:04:05"),
		"# " + lang.In(words.Text("without annotations, arguments, values of variables, attributes of volumes, and what containers printed", "不含注解、参数、变量的值、卷的属性和容器输出的内容")), "",
	}
	out, err := yaml.Marshal(redacted(p))
	if err != nil {
		return append(lines, err.Error())
	}
	for line := range strings.Lines(string(out)) {
		lines = append(lines, words.Clean(strings.TrimRight(line, "\n")))
	}
	return lines
}

// redacted returns the pod with its environment's plain values replaced, and with the fields that name its kind.
func redacted(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.APIVersion, out.Kind = "v1", "Pod"
	hide := func(env []corev1.EnvVar) {
		for i := range env {
			if env[i].ValueFrom == nil {
				env[i].Value = redact.Redacted
			}
		}
	}
	for _, all := range [][]corev1.Container{out.Spec.InitContainers, out.Spec.Containers} {
		for i := range all {
			hide(all[i].Env)
		}
	}
	for i := range out.Spec.EphemeralContainers {
		hide(out.Spec.EphemeralContainers[i].Env)
	}
	return out
}

// logLines returns the logs, a heading before each.
func logLines(lang words.Lang, s *evidence.Snapshot, logs []evidence.ContainerLog) (lines []string) {
	if len(logs) == 0 {
		if s.KubeletPod == nil && s.Pod == nil {
			return notSeen(lang, s, evidence.Port, evidence.API)
		}
		return []string{lang.In(words.Text("It has no containers yet.", "它还没有容器。"))}
	}
	for i, l := range logs {
		if i > 0 {
			lines = append(lines, "")
		}
		head := "--- " + words.Clean(l.Container)
		if l.Previous {
			head += " · " + lang.In(words.Text("before it was started again", "重启之前"))
		}
		if l.Cut {
			head += " · " + lang.In(words.Text("older lines left out", "省略了更早的行"))
		}
		lines = append(lines, head)
		switch {
		case l.Why != "":
			lines = append(lines, strings.TrimSuffix(lang.Inf(words.Text("not read (%s): %s", "无法读取（%s）：%s"), l.Why, words.Clean(l.Message)), lang.In(words.Text(": ", "："))))
		case len(l.Lines) == 0:
			lines = append(lines, lang.In(words.Text("it has written nothing", "它没有写任何内容")))
		}
		lines = append(lines, l.Lines...)
	}
	return lines
}

// eventLines returns the pod's events at the API server, the newest last.
func eventLines(lang words.Lang, s *evidence.Snapshot) (lines []string) {
	for i := range s.Cluster.Events {
		e := &s.Cluster.Events[i]
		if e.Kind != "Pod" || e.Name != s.Name.Name {
			continue
		}
		at := e.Last
		if at.IsZero() {
			at = e.First
		}
		head := fmt.Sprintf("%s  %s  %s", at.Local().Format(time.TimeOnly), words.Clean(e.Type), words.Clean(e.Reason))
		if e.Count > 1 {
			head += fmt.Sprintf("  x%d", e.Count)
		}
		if e.Component != "" {
			head += "  " + words.Clean(e.Component)
		}
		lines = append(lines, head, "    "+words.OneLine(e.Message))
	}
	if len(lines) > 0 {
		return lines
	}
	if s.Pod == nil {
		return notSeen(lang, s, evidence.API)
	}
	return []string{lang.In(words.Text("The API server has no events of it. It forgets them after an hour, unless told otherwise.", "API server 没有它的事件。默认一小时后就会被清除。"))}
}

// notSeen says why nothing is known.
func notSeen(lang words.Lang, s *evidence.Snapshot, sources ...evidence.Source) []string {
	lines := []string{lang.In(words.Text("It could not be seen:", "看不到："))}
	for _, from := range sources {
		for _, u := range s.Unseen {
			if u.Source == from {
				lines = append(lines, "  "+words.Clean(u.String()))
			}
		}
	}
	if len(lines) == 1 {
		lines[0] = lang.In(words.Text("Neither the kubelet nor the API server has such a pod.", "kubelet 和 API server 都没有这个 Pod。"))
	}
	return lines
}
