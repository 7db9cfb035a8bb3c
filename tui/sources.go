package tui

import (
	"context"
	"reflect"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/nodes"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/view"
)

// Source is one agent: the node that it is on, and how to open a session with it. A session has its own history, lives,
// position, holds and walks.
type Source struct {
	fleet.Node
	// Open opens a session, and returns the options of its screen.
	Open func(context.Context) (session.Session, Options, error)
}

// Sources is the model of a program with several sources. Its first screen lists the pods of all nodes. A node's own
// screen, which is a Model, opens on top of it, and stays open, with all that it holds, when the person goes back.
type Sources struct {
	ctx     context.Context
	opts    Options
	clock   clock
	sources []Source
	fleet   followed
	end     *ending

	list   *nodes.List
	frame  frame
	input  *ask.Input
	notice *screen.Notice
	// opened are the screens that are open, by the index of the node; nil while one is being opened.
	opened map[int]*Model
	// current is the index of the node whose screen is shown; none: the list is.
	current int
	// wanted is the pod to select when the screen opens.
	wanted   map[int]*agentpb.Pod
	nodeless nodeless
	// terminal are the messages about the terminal that each screen needs, by their types.
	terminal map[reflect.Type]tea.Msg
	// warned: the person was asked, with the last key, about what is held on other nodes. asked: with the key before.
	warned, asked bool
	mouse         bool
	actions       []sourceAction
	help          *ask.Picker // nil: it is not shown
}

// followed brings what is known of the nodes, whenever it has changed.
type followed interface {
	Next(context.Context) ([]fleet.Status, error)
}

// none is no node.
const none = -1

func newSources(ctx context.Context, sources []Source, f followed, end *ending, o Options, c clock) *Sources {
	s := &Sources{
		ctx: ctx, opts: o, clock: c, sources: sources, fleet: f, end: end, list: nodes.New(o.Lang), current: none, mouse: !o.NoMouse, actions: sourceActions(),
		opened: map[int]*Model{}, wanted: map[int]*agentpb.Pod{}, terminal: map[reflect.Type]tea.Msg{},
	}
	s.frame.options = view.Options{NoColour: o.NoColour}
	s.frame.choose(o.Theme)
	if o.ASCII {
		s.frame.options.Glyphs = view.ASCII
	}
	return s
}

// fleetMsg brings what is known of the nodes.
type fleetMsg struct {
	all []fleet.Status
	err error
}

// sourceMsg is a message of one source's screen.
type sourceMsg struct {
	source int
	msg    tea.Msg
}

// openedMsg brings the session with a source, or why there is none.
type openedMsg struct {
	source  int
	session session.Session
	opts    Options
	err     error
}

// toNodesMsg leaves a node's screen for the list.
type toNodesMsg struct{}

// quitMsg: the person ends the program on a node's screen.
type quitMsg struct{}

// Init asks for the first news.
func (s *Sources) Init() tea.Cmd {
	return tea.Batch(s.nextFleet(), s.askForNodeless(), s.clock.after(time.Second, tickMsg{}), tea.RequestBackgroundColor)
}

func (s *Sources) askForNodeless() tea.Cmd {
	return s.nodeless.askForPods(s.ctx, s.opts.Gather, s.clock.now())
}

func (s *Sources) nextFleet() tea.Cmd {
	return func() tea.Msg {
		all, err := s.fleet.Next(s.ctx)
		return fleetMsg{all, err}
	}
}

// Update takes one message.
func (s *Sources) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg, tea.BackgroundColorMsg, tea.ColorProfileMsg:
		return s, s.terminalIs(msg)
	case fleetMsg:
		if msg.err != nil {
			return s, nil
		}
		s.list.Set(msg.all)
		return s, s.nextFleet()
	case tickMsg:
		return s, tea.Batch(s.askForNodeless(), s.clock.after(time.Second, tickMsg{}))
	case nodelessMsg:
		s.nodeless.takePods(msg, s.list.SetUnscheduled)
	case openedMsg:
		return s, s.open(msg)
	case sourceMsg:
		return s, s.pass(msg.source, msg.msg)
	case toNodesMsg:
		s.show(none)
		return s, nil
	case quitMsg:
		return s, s.quitHere()
	case tea.KeyPressMsg:
		if s.current == none {
			return s, s.key(msg)
		}
		delete(s.wanted, s.current) // the person has gone on to something else
	case tea.MouseMsg:
		if s.current == none {
			return s, s.mouseEvent(msg)
		}
	case tea.PasteMsg:
		if s.current == none {
			s.paste(msg.Content)
		}
	}
	if s.current != none {
		return s, s.pass(s.current, msg)
	}
	return s, nil
}

// show shows the screen of a node, or the list with none.
func (s *Sources) show(source int) {
	s.current = source
	for i, m := range s.opened {
		if m != nil {
			m.hidden = i != source
			m.watchClosely()
		}
	}
}

// terminalIs passes on what the terminal is like, to the screens that will open, too.
func (s *Sources) terminalIs(msg tea.Msg) tea.Cmd {
	s.terminal[reflect.TypeOf(msg)] = msg
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.frame.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		s.frame.background(msg.IsDark())
	case tea.ColorProfileMsg:
		s.frame.colours(msg.Profile)
	}
	var cmds []tea.Cmd
	for i := range s.opened {
		cmds = append(cmds, s.pass(i, msg))
	}
	return tea.Batch(cmds...)
}

// pass passes a message to a node's screen.
func (s *Sources) pass(source int, msg tea.Msg) tea.Cmd {
	m := s.opened[source]
	if m == nil {
		return nil
	}
	_, cmd := m.Update(msg)
	if p := s.wanted[source]; p != nil && m.state.SelectPodOf(p.GetUid()) {
		delete(s.wanted, source)
		m.frame.touch()
	}
	return s.wrap(source, cmd)
}

// wrap makes what a node's screen asks for come back to that screen. What is meant for the program itself is not
// wrapped.
func (s *Sources) wrap(source int, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil:
			return nil
		case tea.BatchMsg:
			all := make(tea.BatchMsg, len(msg))
			for i := range msg {
				all[i] = s.wrap(source, msg[i])
			}
			return all
		case toNodesMsg:
			return msg
		case tea.QuitMsg:
			return quitMsg{}
		default:
			if strings.HasPrefix(reflect.TypeOf(msg).PkgPath(), "charm.land/") {
				return msg
			}
			return sourceMsg{source, msg}
		}
	}
}

// enter shows the screen of the selected node, or opens it, and selects the selected pod.
func (s *Sources) enter() tea.Cmd {
	source, pod, ok := s.list.Selected()
	if !ok {
		return nil
	}
	if source == nodes.None {
		if source = s.reached(); source == none {
			s.fail(s.opts.Lang.In(words.Text("no node answers, so no screen shows this pod", "没有节点回答，所以没有画面能显示这个 Pod")))
			return nil
		}
	}
	if node := s.list.Node(source); s.opened[source] == nil && !node.State.Answers() {
		s.fail(s.list.Unreached(node))
		return nil
	}
	delete(s.wanted, source)
	if m, is := s.opened[source]; is {
		if m != nil {
			s.show(source)
			if pod != nil {
				m.state.SelectPodOf(pod.GetUid())
			}
			m.frame.touch()
		}
		return nil
	}
	if pod != nil {
		s.wanted[source] = pod
	}
	s.opened[source] = nil
	open := s.sources[source].Open
	return func() tea.Msg {
		opened, o, err := open(s.ctx)
		return openedMsg{source, opened, o, err}
	}
}

// reached returns a node whose screen can be shown: each shows the pods without a node, too.
func (s *Sources) reached() int {
	for i := range s.sources {
		if s.opened[i] != nil {
			return i
		}
	}
	for i := range s.sources {
		if s.list.Node(i).State.Answers() {
			return i
		}
	}
	return none
}

// paste takes text that is pasted into what is being typed.
func (s *Sources) paste(text string) {
	switch {
	case s.help != nil:
		s.help.Paste(text)
	case s.input != nil:
		s.input.Paste(text)
	}
}

// open shows a session that was opened.
func (s *Sources) open(msg openedMsg) tea.Cmd {
	if msg.err != nil {
		delete(s.opened, msg.source)
		s.fail(s.opts.Lang.In(reason.Error(msg.err)))
		return nil
	}
	kept, ledger := session.WithLedger(msg.session)
	s.end.add(kept, ledger)
	msg.opts.several = true
	m := newModel(s.ctx, kept, msg.opts, s.clock)
	s.opened[msg.source] = m
	s.show(msg.source)
	cmds := []tea.Cmd{s.wrap(msg.source, m.Init())}
	for _, about := range s.terminal {
		cmds = append(cmds, s.pass(msg.source, about))
	}
	return tea.Batch(cmds...)
}

func (s *Sources) fail(text string) { s.notice = &screen.Notice{Text: text, Error: true} }

// View draws the list, or the screen of a node.
func (s *Sources) View() tea.View {
	if s.current != none {
		return s.opened[s.current].View()
	}
	v := tea.NewView("")
	v.AltScreen, v.WindowTitle = true, "podstep"
	if s.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if s.frame.styles != nil {
		v.Content = view.DrawNodes(s.screen(), s.frame.styles)
	}
	return v
}

// screen returns the list as there is to draw.
func (s *Sources) screen() *screen.Nodes {
	n := s.list.Screen(view.NodesRows(s.frame.styles), s.clock.now())
	n.Notice = s.notice
	if s.input != nil {
		n.Input = s.input.Draw()
	}
	if s.help != nil {
		n.Over = s.help.Overlay(s.frame.styles)
	}
	n.Hints = s.hints()
	return n
}
