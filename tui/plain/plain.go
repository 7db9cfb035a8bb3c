// Package plain shows a session in lines, for screen readers, pipes, and terminals that can do nothing else. It only
// ever adds lines. It draws no boxes, no colours and no spinners. Each line says first what it is about. Commands
// are words or numbers at a prompt.
package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/stream"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/state"
)

// Options say how to show the session.
type Options struct {
	Lang words.Lang
	// Because names the switch that chose plain lines.
	Because string
	// Commands are read from In; nil if nobody types any.
	In  io.Reader
	Out io.Writer
}

// printer prints a session.
type printer struct {
	Options
	session session.Session
	control session.Control
	decode  *wire.Decoder
	info    *agentpb.InfoResponse
	names   *probes.Catalogue
	state   *state.State // what the events show, for the list of pods
	// caughtUp is set once the events from before podstep came have been printed in short.
	caughtUp bool
	// last is the last poll of the present agent.
	last *session.Poll
	// results are those of commands that take time.
	results chan result
	waiting context.CancelFunc
	err     error
}

// result is the result of a command.
type result struct {
	line string
	err  error
}

// releaseTime is how long podstep may take at the end to let pods go.
const releaseTime = 5 * time.Second

// Run prints until the session or the person ends it, and lets go what was held through it. If there is an input,
// its end ends Run, too.
func Run(ctx context.Context, s session.Session, o Options) error {
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	s, ledger := session.WithLedger(s)
	defer s.Close()
	p := &printer{Options: o, session: s, control: s.Control(), names: probes.MustLoad(), results: make(chan result)}
	err := p.run(ctx)
	if ledger == nil {
		return err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	released, failed := ledger.Release(within)
	for _, name := range released {
		p.printf(words.Text("Pod %s: goes on", "Pod %s：继续"), name)
	}
	return errors.Join(err, failed)
}

func (p *printer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.printf(words.Text("podstep: plain lines (%s)", "podstep：纯文本模式（%s）"), p.Because)
	news := stream.Receive(ctx, func() (session.News, error) { return p.session.Next(ctx) })
	var commands chan string
	for p.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case a := <-news:
			if a.Err != nil {
				return ended(a.Err)
			}
			if p.takeNews(a.Item) {
				return p.err
			}
			if commands == nil && p.In != nil && p.last != nil {
				// A command refers to what the person has read.
				commands = make(chan string)
				p.help()
				go read(ctx, p.In, commands)
			}
		case line, open := <-commands:
			if !open || p.command(ctx, line) {
				return p.err
			}
		case r := <-p.results:
			p.result(r)
		}
	}
	return p.err
}

// ended returns nil for the end of a context, which is no failure.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func read(ctx context.Context, in io.Reader, to chan<- string) {
	defer close(to)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		select {
		case to <- lines.Text():
		case <-ctx.Done():
			return
		}
	}
}

// printf prints a line.
func (p *printer) printf(t probes.Text, args ...any) {
	p.print(fmt.Sprintf(p.Lang.In(t), args...))
}

// print writes one line. Names and messages come from pods, so control characters are made visible.
func (p *printer) print(line string) {
	if _, err := fmt.Fprintln(p.Out, words.Clean(line)); err != nil && p.err == nil {
		p.err = fmt.Errorf("print line: %w", err)
	}
}

// takeNews prints news. It returns true at the end of a trace file.
func (p *printer) takeNews(n session.News) (end bool) {
	if n.Info != nil {
		p.info, p.caughtUp, p.last = n.Info, false, nil
		p.decode = wire.NewDecoder(n.Info)
		if p.state == nil {
			p.state = state.New(n.Info, p.names, p.Lang)
		} else {
			p.state.SetInfo(n.Info)
		}
		p.agent()
	}
	if n.Link != nil && n.Link.Link == screen.LinkReconnecting {
		p.printf(words.Text("Agent: not there (%s); trying again", "代理：不在（%s）；正在重试"), p.Lang.In(reason.Error(n.Link.Why)))
	}
	for _, b := range n.Batches {
		p.state.Add(b)
		for _, e := range p.decode.Batch(b) {
			if p.caughtUp || p.session.File() != "" {
				p.event(&e)
			}
		}
	}
	if n.CaughtUp {
		p.caughtUp = true
	}
	if n.Poll != nil {
		p.poll(n.Poll)
	}
	if n.Fault != nil {
		p.print(n.Fault.Error())
	}
	return n.CaughtUp && p.session.File() != ""
}

// agent prints which agent there is, and the state of its probes.
func (p *printer) agent() {
	all := p.info.GetProbes()
	by := p.Lang.In(words.Text("no probe", "没有探针"))
	if names := wire.Working(all); len(names) == 1 {
		by = p.Lang.In(words.Text("probe ", "探针 ")) + names[0]
	} else if len(names) > 1 {
		by = p.Lang.In(words.Text("probes ", "探针 ")) + strings.Join(names, p.Lang.In(words.Text(", ", "、")))
	}
	p.printf(words.Text("Agent: node %s, kubelet %s, seen by %s", "代理：节点 %s，kubelet %s，探测方式：%s"), p.info.GetNode(), p.info.GetKubeletVersion(), by)
	for _, one := range all {
		if !wire.Works(one) || wire.Retries(one) {
			p.probe(one.GetName(), wire.StateName(one), wire.Why(one.GetReason()))
		}
	}
}

// probe prints the state of a probe.
func (p *printer) probe(name, state string, why probes.Reason) {
	p.printf(words.Text("Agent: %s", "代理：%s"), p.Lang.In(reason.Probe(name, state, why)))
}

// event prints an event if a person wants to know of it: failures, holds, and the main steps when they are done.
func (p *printer) event(e *probes.Event) {
	who := p.Lang.In(words.Text("Node", "节点"))
	if e.Pod != nil {
		who = "Pod " + e.Pod.NamespacedName()
	}
	what := p.title(e.Step)
	switch {
	case e.Kind == probes.Held:
		p.printf(words.Text("%s: held at %s of %s", "%s：被停住，%s %s"), who, e.Fields["on"], what)
	case e.Kind == probes.Released:
		p.printf(words.Text("%s: goes on from %s, %s", "%s：从 %s 继续，%s"), who, what, p.Lang.In(reason.Released(e.Fields)))
	case e.Kind == probes.Fault:
		p.printf(words.Text("%s: a fault was injected at %s", "%s：在 %s 注入了故障"), who, what)
	case e.Kind == probes.Drop:
		p.printf(words.Text("Events were lost: %s", "事件丢失：%s"), e.Lost())
	case p.outside(e.Step):
		p.report(who, e)
	case e.Kind == probes.Note:
		if state, why, is := e.ProbeState(); is {
			p.probe(e.Probe, state, why)
		}
		if note := p.Lang.In(reason.Note(e.Fields)); note != "" {
			p.print(who + ": " + note)
		}
	case e.Kind == probes.Exit && e.Error != "":
		p.printf(words.Text("%s: step %s failed after %s: %s", "%s：步骤 %s 在 %s 后失败：%s"), who, what, words.Measured(time.Duration(e.DurationNs)), e.Error)
	case e.Kind == probes.Exit && p.main(e):
		p.printf(words.Text("%s: step %s done after %s", "%s：步骤 %s 完成，用时 %s"), who, what, words.Measured(time.Duration(e.DurationNs)))
	}
}

// outside reports whether a step is a report.
func (p *printer) outside(step string) bool {
	s := p.names.Step(step)
	return s != nil && s.Report()
}

// report prints what the cluster says of a pod. The beginning of a report has all of it, except that it is an error.
func (p *printer) report(who string, e *probes.Event) {
	s := p.names.Step(e.Step)
	switch {
	case e.Kind == probes.Exit && e.Error != "":
		p.printf(words.Text("%s: %s: failed: %s", "%s：%s：失败：%s"), who, p.title(e.Step), e.Error)
	case e.Kind == probes.Enter && s.Tier == 1:
		p.printf(words.Text("%s: %s: %s, reported by %s", "%s：%s：%s，来自 %s"), who, p.title(e.Step), reported(s, e.Fields), reporter(s, e.Fields))
	}
}

// reported returns the values of a report, in the catalogue's order. It leaves out the source and the time since
// when, which are printed apart or not at all.
func reported(s *probes.Step, fields map[string]any) string {
	var out []string
	for _, f := range s.Fields {
		v, ok := fields[f.Name]
		if !ok || v == "" || f.Name == "from" || f.Name == "since" {
			continue
		}
		out = append(out, fmt.Sprintf("%s %v", f.Name, v))
	}
	return strings.Join(out, ", ")
}

// reporter returns the source of a report.
func reporter(s *probes.Step, fields map[string]any) string {
	if from, ok := fields["from"].(string); ok && from == string(probes.ByKubelet) {
		return from
	}
	return string(s.Seen)
}

// main reports whether an event is of a pod, at one of the main steps.
func (p *printer) main(e *probes.Event) bool {
	s := p.names.Step(e.Step)
	return s != nil && s.Tier == 1 && e.Pod != nil
}

func (p *printer) title(step string) string {
	if s := p.names.Step(step); s != nil {
		return fmt.Sprintf("%s (%s)", step, strings.TrimSuffix(p.Lang.In(s.Title), "."))
	}
	return step
}
