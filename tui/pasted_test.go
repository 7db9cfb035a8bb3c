package tui

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// cleaned passes a stream through a cleaner in pieces of at most so many bytes.
func cleaned(stream string, piece int) string {
	var c pasteCleaner
	var out strings.Builder
	for len(stream) > 0 {
		n := min(piece, len(stream))
		out.Write(c.next([]byte(stream[:n])))
		stream = stream[n:]
	}
	return out.String()
}

// TestPasteCleaner: what is outside of pastes stays; in pastes control characters become spaces.
func TestPasteCleaner(t *testing.T) {
	for in, want := range map[string]string{
		"jk\x1b[A\x1b]0;title\x07":         "jk\x1b[A\x1b]0;title\x07",
		pasteBegins + "web" + pasteEnds:    pasteBegins + "web" + pasteEnds,
		"\x1b" + pasteBegins + "\x1b]0;x":  "\x1b" + pasteBegins + " ]0;x",
		pasteBegins + "\x1bPfoo\x90" + "é": pasteBegins + " Pfoo " + "é",
		pasteBegins + "\x1b[20\x1b[201~q":  pasteBegins + " [20" + pasteEnds + "q",
		pasteBegins + "a\tb\r\nü€😀\u0085":  pasteBegins + "a\tb\r\nü€😀  ",
		pasteBegins + pasteBegins + "x":    pasteBegins + " [200~x",
		pasteBegins + "\x03" + pasteEnds:   pasteBegins + " " + pasteEnds,
		pasteBegins + pasteEnds + "\x1b":   pasteBegins + pasteEnds + "\x1b",
	} {
		for piece := 1; piece < 20; piece++ {
			if got := cleaned(in, piece); got != want {
				t.Errorf("in pieces of %d: %q becomes %q, not %q", piece, in, got, want)
			}
		}
	}
}

// FuzzPaste: a paste of any bytes ends where it ends, and has no control characters.
func FuzzPaste(f *testing.F) {
	f.Add([]byte("\x1b]0;x"), 3)
	f.Add([]byte("\x90\xe2\x82"), 1)
	f.Fuzz(func(t *testing.T, content []byte, piece int) {
		if strings.Contains(string(content), pasteEnds) {
			return
		}
		got := cleaned("j"+pasteBegins+string(content)+pasteEnds+"k\x1b[B", max(1, piece%64))
		inside, ok := strings.CutPrefix(got, "j"+pasteBegins)
		inside, after := strings.CutSuffix(inside, pasteEnds+"k\x1b[B")
		if !ok || !after || len(inside) != len(content) || !utf8.ValidString(inside) {
			t.Fatalf("%q", got)
		}
		for _, r := range inside {
			if unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) {
				t.Fatalf("%q has %q", got, r)
			}
		}
	})
}

// pastes counts the pastes that a program gets, and ends at the key q.
type pastes struct{ n int }

func (p *pastes) Init() tea.Cmd  { return nil }
func (p *pastes) View() tea.View { return tea.NewView("") }
func (p *pastes) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.PasteMsg:
		p.n++
	case tea.KeyPressMsg:
		if m.String() == "q" {
			return p, tea.Quit
		}
	}
	return p, nil
}

// TestPastesDoNotTakeKeys: after pastes of random bytes, whole and hanging ones, keys are keys.
func TestPastesDoNotTakeKeys(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keys.Close()
	const whole = 300
	go func() {
		for range whole {
			b := make([]byte, rand.N(3000))
			for i := range b {
				b[i] = byte(rand.N(256))
			}
			_, _ = keys.WriteString(pasteBegins + strings.ReplaceAll(string(b), pasteEnds, "") + pasteEnds)
		}
		_, _ = keys.WriteString(pasteBegins + "\x1b]0;x")
		time.Sleep(2 * pasteHangs)
		_, _ = keys.WriteString("\x03")
		_, _ = keys.WriteString("q")
	}()
	p := &pastes{}
	if _, err := tea.NewProgram(p, tea.WithContext(t.Context()), tea.WithInput(newPasteGuard(in)), tea.WithOutput(&strings.Builder{}), tea.WithoutSignalHandler()).Run(); err != nil {
		t.Fatal(err)
	}
	if p.n != whole+1 {
		t.Errorf("the program got %d pastes of %d", p.n, whole+1)
	}
}
