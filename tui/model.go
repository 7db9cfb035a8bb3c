package tui

import (
	"context"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/about"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/find"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/stack"
	"github.com/podstep/podstep/tui/state"
	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/view"
	"github.com/podstep/podstep/tui/walk"
)

// Model is the one model of the program.
type Model struct {
	ctx     context.Context
	opts    Options
	session session.Session
	// control is nil in a replay.
	control session.Control
	clock   clock

	state *state.State
	info  *agentpb.InfoResponse
	lang  words.Lang
	// linked: an agent answers.
	linked bool
	link   session.LinkNews

	// What the agent last reported of itself.
	holds  []*agentpb.HoldInfo
	breaks []*agentpb.Breakpoint

	// What is on top of the screen, and what waits.
	layers      []*layered
	input       *ask.Input
	shownNotice *screen.Notice
	noticeUntil time.Time
	pending     *pending
	walk        *walk.Walk
	replay      *replayClock
	record      *recording
	// recorded are the files of the recordings that have ended in this run.
	recorded []string
	// acts are what a key has begun at the agent or the cluster.
	acts sync.WaitGroup
	// strayed: the person has selected another pod since the walk's key.
	strayed bool
	// looked is the stop for which the detail was scrolled last.
	looked *tours.Stop
	filter string
	find   find.Find
	// actions is the table with the keys that the person gave them.
	actions []action
	columns []screen.PodColumn
	marked  marks.Pods
	places  marks.Bookmarks
	// keeper keeps the bookmarks of the recording that is replayed. sought: the kept bookmarks have been asked for.
	keeper *keeper
	sought bool
	sort   screen.PodSort
	// offered: the first walk has been offered, or is not to be offered.
	offered  bool
	caughtUp bool
	asking   asking
	mouse    bool
	drag     bool
	// lastKey is when a key was last pressed. A layer that appears by itself takes no key that may have been meant
	// for something else.
	lastKey time.Time

	frame frame
	// hidden: another screen is shown in place of this one.
	hidden bool
	// last is the last picture if the person asked to leave it in the terminal, else empty.
	last string
	// profile is what the terminal can show.
	profile colorprofile.Profile
}

// clock is the wall clock, with a timer. Tests have their own.
type clock struct {
	now   func() time.Time
	after func(time.Duration, tea.Msg) tea.Cmd
}

// wallClock is the real clock.
var wallClock = clock{
	now: time.Now,
	after: func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	},
}

// newModel makes the model. It shows nothing before the session's first news and the terminal's size have come.
func newModel(ctx context.Context, s session.Session, o Options, c clock) *Model {
	m := &Model{
		ctx: ctx, opts: o, session: s, control: s.Control(), clock: c, lang: o.Lang,
		info: &agentpb.InfoResponse{}, mouse: !o.NoMouse,
	}
	m.state = state.New(m.info, probes.MustLoad(), m.lang)
	m.frame.options = view.Options{NoColour: o.NoColour}
	m.frame.choose(o.Theme)
	m.applySettings()
	if o.ASCII {
		m.frame.options.Glyphs = view.ASCII
	}
	if err := m.setFilter(o.Filter); err != nil {
		m.fail(err)
	}
	if s.File() != "" {
		m.replay = newReplayClock()
	}
	return m
}

// Init asks for the first news.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.nextNews(), m.clock.after(time.Second, tickMsg{})}
	cmds = append(cmds, tea.RequestBackgroundColor)
	if m.opts.Record != "" {
		cmds = append(cmds, m.startRecord(m.opts.Record))
	}
	return tea.Batch(cmds...)
}

// newsMsg brings news of the session.
type newsMsg struct {
	news session.News
	err  error
}

// tickMsg comes every second, so that countdowns go on.
type tickMsg struct{}

// wakeMsg makes the screen be drawn again when only time has passed.
type wakeMsg struct{}

func (m *Model) nextNews() tea.Cmd {
	return func() tea.Msg {
		n, err := m.session.Next(m.ctx)
		return newsMsg{n, err}
	}
}

// Update takes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.frame.touch()
	defer m.frame.touch()
	defer m.watchClosely()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.frame.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		m.frame.background(msg.IsDark())
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
		m.frame.colours(msg.Profile)
	case tea.KeyPressMsg:
		return m, m.byHand(func() tea.Cmd { return m.key(msg) })
	case tea.PasteMsg:
		return m, m.paste(msg.Content)
	case tea.MouseMsg:
		return m, m.byHand(func() tea.Cmd { return m.mouseEvent(msg) })
	case newsMsg:
		return m, m.takeNews(msg)
	case heldMsg:
		return m, m.takeHeld(msg)
	case doneMsg:
		return m, m.takeDone(msg)
	case manyMsg:
		m.takeMany(msg)
	case walk.Msg:
		return m, msg.Take()
	case about.Msg:
		msg.Take()
	case stack.Msg:
		return m, msg.Take()
	case keptMsg:
		if msg.err != nil {
			m.fail(msg.err)
		}
	case bookmarksMsg:
		return m, m.takeBookmarks(msg)
	case recordMsg:
		m.takeRecord(msg)
	case gatheredMsg:
		m.takeGathered(msg)
	case nodelessMsg:
		m.asking.nodeless.takePods(msg, m.state.SetUnscheduled)
	case playMsg:
		return m, m.takePlay(msg)
	case tickMsg:
		return m, tea.Batch(m.tick(), m.clock.after(time.Second, tickMsg{}))
	}
	return m, nil
}

// watchClosely asks for all steps of the pod that the screen shows.
func (m *Model) watchClosely() {
	if uid := m.selectedUID(); m.hidden {
		m.session.WatchClosely("")
	} else {
		m.session.WatchClosely(uid)
	}
}

// tick does what happens by itself every second.
func (m *Model) tick() tea.Cmd {
	m.state.Tick(m.clock.now())
	m.showLink()
	if m.shownNotice != nil && m.clock.now().After(m.noticeUntil) {
		m.shownNotice = nil
	}
	return tea.Batch(m.walkLook(), m.gather(), m.askForNodeless())
}

// text returns a text in the reader's language, with the keys that actions have now.
func (m *Model) text(t text) string { return named(m.actions, m.lang.In(t), keyName) }

// textf formats a text in the reader's language, with the keys that actions have now.
func (m *Model) textf(t text, args ...any) string {
	return fmt.Sprintf(named(m.actions, m.lang.In(t), keyInFormat), args...)
}

// notice shows what a key did.
func (m *Model) notice(s string) { m.setNotice(s, false) }

// fail shows what went wrong.
func (m *Model) fail(err error) { m.setNotice(m.text(reason.Error(err)), true) }

// A notice stays until the next key, but not for ever: it takes the place of the hints in the footer.
const (
	noticeTime = 4 * time.Second
	errorTime  = 15 * time.Second
)

func (m *Model) setNotice(s string, isError bool) {
	m.shownNotice = &screen.Notice{Text: s, Error: isError}
	m.noticeUntil = m.clock.now().Add(noticeTime)
	if isError {
		m.noticeUntil = m.clock.now().Add(errorTime)
	}
}

// node returns the node's name, for sentences.
func (m *Model) node() string {
	if n := m.info.GetNode(); n != "" {
		return n
	}
	return "?"
}

// within returns a context for a call that does not wait for a pod.
func (m *Model) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(m.ctx, callTime)
}

// callTime is how long an agent may take to answer without waiting for a pod.
const callTime = 10 * time.Second
