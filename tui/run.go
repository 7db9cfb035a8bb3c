package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/session"
)

// releaseTime is how long podstep may take to let pods go when the program ends. Pods that are not let go by then go
// on when the agent finds the connection closed.
const releaseTime = 5 * time.Second

// Run shows a session until the person leaves. However it ends, it first lets go what was held through it. When the
// terminal is restored, Run writes to out the few lines that are to stay.
func Run(ctx context.Context, s session.Session, o Options, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := &ending{cancel: cancel}
	s, ledger := session.WithLedger(s)
	end.add(s, ledger)
	defer end.close()
	m := newModel(ctx, s, o, wallClock)
	err := end.run(ctx, m, o)
	finishActs(m)
	cancel()
	m.finishRecording()
	end.release()
	if err != nil {
		return err
	}
	m.printLast(out)
	for _, line := range m.farewell(end) {
		fmt.Fprintln(out, line)
	}
	return nil
}

// RunSources shows the pods of several nodes until the person leaves, and ends like Run. f follows the nodes of the
// sources, in their order.
func RunSources(ctx context.Context, sources []Source, f *fleet.Fleet, o Options, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := &ending{cancel: cancel}
	defer end.close()
	s := newSources(ctx, sources, f, end, o, wallClock)
	err := end.run(ctx, s, o)
	finishActs(slices.Collect(maps.Values(s.opened))...)
	cancel()
	var lines []string
	for i := range sources {
		if m := s.opened[i]; m != nil {
			m.finishRecording()
			m.printLast(out)
			lines = append(lines, m.recordedLines()...)
		}
	}
	end.release()
	if err != nil {
		return err
	}
	for _, line := range append(lines, end.lines(o.Lang)...) {
		fmt.Fprintln(out, line)
	}
	return nil
}

// run runs a model in the terminal until the person or a signal ends it. Before it returns it lets go what is held.
func (e *ending) run(ctx context.Context, m tea.Model, o Options) error {
	stop := e.onSignals()
	defer stop()
	defer onHangup(os.Stdin, e.leave)()
	defer e.release()
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}
	if o.NoColour {
		options = append(options, tea.WithColorProfile(colorprofile.Ascii))
	}
	if term.IsTerminal(os.Stdin.Fd()) { // otherwise Bubble Tea opens the terminal itself
		options = append(options, tea.WithInput(newPasteGuard(os.Stdin)))
	}
	_, err := tea.NewProgram(m, options...).Run()
	if errors.Is(err, tea.ErrProgramPanic) {
		return fmt.Errorf("the screen failed: %w", err)
	}
	if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return fmt.Errorf("run the screen: %w", err)
	}
	return nil
}

// ending lets go what is held, once, whatever ends the program first: the person, a signal, a panic.
type ending struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	sessions []session.Session
	ledgers  []*session.Ledger

	once     sync.Once
	released []string
	err      error
}

// add adds a session, and the ledger through which it acts; nil: it has none.
func (e *ending) add(s session.Session, l *session.Ledger) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions = append(e.sessions, s)
	if l != nil {
		e.ledgers = append(e.ledgers, l)
	}
}

// close ends the sessions.
func (e *ending) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.sessions {
		s.Close()
	}
}

// release lets go what is held through all ledgers, at once: an agent that hangs delays no other.
func (e *ending) release() {
	e.once.Do(func() {
		e.mu.Lock()
		ledgers := slices.Clone(e.ledgers)
		e.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
		defer cancel()
		released, errs := make([][]string, len(ledgers)), make([]error, len(ledgers))
		var all sync.WaitGroup
		for i, l := range ledgers {
			all.Go(func() { released[i], errs[i] = l.Release(ctx) })
		}
		all.Wait()
		e.released, e.err = slices.Concat(released...), errors.Join(errs...)
	})
}

// leave lets go what is held, and ends the program.
func (e *ending) leave() {
	e.release()
	e.cancel()
}

// onSignals lets go at a signal, before it touches the screen: the terminal may be gone, and writing to it may
// block.
func (e *ending) onSignals() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			e.leave()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// finishActs waits until what the person has begun on some screens is done: a key that ends the program right after one that
// deletes a walk's objects would else leave half of them. A screen that is nil is not open yet.
func finishActs(screens ...*Model) {
	ended := make(chan struct{})
	go func() {
		for _, m := range screens {
			if m != nil {
				m.acts.Wait()
			}
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(releaseTime): // the API server or the agent does not answer
	}
}

// finishRecording waits until the file of a recording is complete.
func (m *Model) finishRecording() {
	r := m.record
	if r == nil {
		return
	}
	r.stop()
	select {
	case <-r.ended:
		m.recorded = append(m.recorded, absolute(r.path))
	case <-time.After(releaseTime): // the recording had not begun, or the disk does not answer
	}
}

// farewell returns the lines that are left in the terminal: what was wrong, what was recorded, what was let go.
func (m *Model) farewell(e *ending) (lines []string) {
	if m.frame.screen != nil && m.frame.screen.Why.Text != "" {
		lines = append(lines, m.frame.screen.Why.Text)
		if _, p, ok := m.state.Selected(); ok {
			lines[0] = m.textf(words.Text("%s/%s: %s", "%s/%s：%s"), p.Namespace, p.Name, lines[0])
		}
	}
	return slices.Concat(lines, m.recordedLines(), e.lines(m.lang))
}

// recordedLines name the files of recordings.
func (m *Model) recordedLines() (lines []string) {
	for _, path := range m.recorded {
		lines = append(lines, m.textf(words.Text("recorded: %s (podstep replay opens it)", "已录制：%s（用 podstep replay 打开）"), path))
	}
	return lines
}

// lines say what was let go, and what was not.
func (e *ending) lines(lang words.Lang) (lines []string) {
	for _, name := range e.released {
		lines = append(lines, lang.Inf(words.Text("%s was held and goes on", "%s 已放行"), name))
	}
	if e.err != nil {
		lines = append(lines, lang.Inf(words.Text("podstep: not all could be let go: %v; what is held goes on when the agent finds podstep gone, see podstep pods", "podstep：未能全部放行：%v；代理发现 podstep 已退出后会放行它们，见 podstep pods"), e.err))
	}
	return lines
}

// printLast leaves the last picture in the terminal, if the person asked for that, in the colours that the terminal
// has.
func (m *Model) printLast(out io.Writer) {
	if m.last == "" {
		return
	}
	profile := m.profile
	if m.opts.NoColour {
		profile = colorprofile.Ascii
	}
	w := &colorprofile.Writer{Forward: out, Profile: profile}
	fmt.Fprintln(w, strings.TrimRight(m.last, " \n"))
}
