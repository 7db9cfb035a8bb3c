// Package tuitest runs a program in a terminal of its own, presses keys, and looks at the screen, as a person does.
// The terminal is tmux's, so a test sees what a real terminal makes of the program's output.
package tuitest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Terminal is a terminal in which a shell runs.
type Terminal struct {
	t      testing.TB
	socket string
	ctx    context.Context
}

// patience is how long anything may take to appear. It ends tests that would wait for ever. No test measures time by
// it.
const patience = 2 * time.Minute

// prompt is the prompt of the shell.
const prompt = "shell>"

// podstep's tests look at the screen every 20 ms, and less often the longer they have waited: a twentieth of that, a quarter of a
// second at most. tmux does not report changes, and each look starts a program.
const (
	lookEvery  = 20 * time.Millisecond
	lookAtMost = 250 * time.Millisecond
)

// escapeEvery is how long a program may take to do what Escape asks for before a test presses it again.
const escapeEvery = 2 * time.Second

// Start opens a terminal of that size and types a command into its shell. It closes the terminal when the test ends.
func Start(t testing.TB, width, height int, env []string, command ...string) *Terminal {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("tmux is not there; make node-deps installs it")
	}
	dir, err := os.MkdirTemp("", "tui")
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{t: t, socket: filepath.Join(dir, "tmux"), ctx: context.Background()}
	cmd := exec.Command(tmux, "-f", os.DevNull, "-u", "-S", term.socket, "new-session", "-d",
		"-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env", "PS1="+prompt+" ", "HISTFILE=/dev/null", "bash", "--norc", "--noprofile")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("start tmux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command(tmux, "-S", term.socket, "kill-server").Run()
		os.RemoveAll(dir)
	})
	term.Until(prompt)
	term.Type(strings.Join(command, " "))
	term.Press("Enter")
	return term
}

func (s *Terminal) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// Press presses keys, named as in tmux: a, Enter, Escape, C-c, Tab, Up.
func (s *Terminal) Press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		if out, err := s.tmux("send-keys", k); err != nil {
			s.t.Fatalf("press %s: %v: %s", k, err, out)
		}
	}
}

// Type types text as it is.
func (s *Terminal) Type(text string) {
	s.t.Helper()
	if out, err := s.tmux("send-keys", "-l", text); err != nil {
		s.t.Fatalf("type %q: %v: %s", text, err, out)
	}
}

// Screen returns the present screen without colours.
func (s *Terminal) Screen() string {
	out, err := s.tmux("capture-pane", "-p")
	if err != nil {
		return fmt.Sprintf("(no screen: %v: %s)", err, out)
	}
	return out
}

// Colours returns the present screen with its escape sequences.
func (s *Terminal) Colours() string {
	out, _ := s.tmux("capture-pane", "-p", "-e")
	return out
}

// Until waits until a text is on the screen, and returns the screen.
func (s *Terminal) Until(text string) string {
	s.t.Helper()
	return s.UntilThat(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// UntilGone waits until a text is no longer on the screen.
func (s *Terminal) UntilGone(text string) string {
	s.t.Helper()
	return s.UntilThat(fmt.Sprintf("no %q", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// UntilPrinted waits until a program without a screen has printed a text. Its lines may scroll away faster than a test looks.
func (s *Terminal) UntilPrinted(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("line %q", text), s.printed, func(all string) bool { return strings.Contains(all, text) })
}

// printed returns the screen, after the lines that have scrolled away.
func (s *Terminal) printed() string {
	out, err := s.tmux("capture-pane", "-p", "-S", "-")
	if err != nil {
		return fmt.Sprintf("(no screen: %v: %s)", err, out)
	}
	return out
}

// UntilThat waits until the condition is true of the screen.
func (s *Terminal) UntilThat(what string, is func(screen string) bool) string {
	s.t.Helper()
	return s.until(what, s.Screen, is)
}

// until waits until the condition is true of what look returns.
func (s *Terminal) until(what string, look func() string, is func(string) bool) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	began := time.Now()
	for {
		text := look()
		if is(text) {
			return text
		}
		select {
		case <-time.After(min(max(lookEvery, time.Since(began)/20), lookAtMost)):
		case <-ctx.Done():
			s.t.Fatalf("the screen never had %s:\n%s", what, look())
		}
	}
}

// Escape presses Escape until a text is gone, because a dialog that appears by itself takes keys only after a quiet moment. It
// gives the program time before it presses again: an Escape that is still to be read when the next key follows is read as that key
// with Alt, and one too many leaves what is below the text.
func (s *Terminal) Escape(text string) {
	s.t.Helper()
	var pressed time.Time
	s.UntilThat("the screen without "+text, func(screen string) bool {
		if !strings.Contains(screen, text) {
			return true
		}
		if time.Since(pressed) > escapeEvery {
			s.Press("Escape")
			pressed = time.Now()
		}
		return false
	})
}

// Resize changes the terminal's size.
func (s *Terminal) Resize(width, height int) {
	s.t.Helper()
	if out, err := s.tmux("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height)); err != nil {
		s.t.Fatalf("resize: %v: %s", err, out)
	}
}

// Flags returns what tmux knows of the terminal: alternate_on, cursor_flag, mouse_any_flag and others, each as "1"
// or "0".
func (s *Terminal) Flags(names ...string) string {
	s.t.Helper()
	format := ""
	for _, n := range names {
		format += n + "=#{" + n + "} "
	}
	out, err := s.tmux("display-message", "-p", strings.TrimSpace(format))
	if err != nil {
		s.t.Fatalf("ask tmux: %v: %s", err, out)
	}
	return strings.TrimSpace(out)
}

// Usable checks that a shell has its terminal back: keys are echoed, lines can be edited, the cursor is visible, and
// the alternate screen and the mouse are off.
func (s *Terminal) Usable() {
	s.t.Helper()
	s.UntilThat("the shell's prompt", func(screen string) bool {
		return strings.HasSuffix(strings.TrimSpace(screen), "\n"+prompt) || strings.TrimSpace(screen) == prompt
	})
	s.Type("echo us''able")
	s.Press("Enter")
	s.Until("usable\n")
	if got := s.Flags("alternate_on", "cursor_flag", "mouse_any_flag"); got != "alternate_on=0 cursor_flag=1 mouse_any_flag=0" {
		s.t.Errorf("the terminal is left with %s", got)
	}
	s.Type("stty -a | grep -o -w -e '-\\?icanon' -e '-\\?echo'")
	s.Press("Enter")
	s.UntilThat("icanon and echo", func(screen string) bool {
		return strings.Contains(screen, "\nicanon\n") && strings.Contains(screen, "\necho\n")
	})
}

// Hangup closes the terminal while the program runs.
func (s *Terminal) Hangup() {
	s.t.Helper()
	if out, err := s.tmux("kill-server"); err != nil {
		s.t.Fatalf("close terminal: %v: %s", err, out)
	}
}
