//go:build bench

package tui

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// counting is the model, and puts the number of keys that it has taken into the title of the window. So a frame with
// that title shows the effect of the key.
type counting struct {
	*Model
	keys int
}

const titled = "keys taken: "

func (c *counting) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(tea.KeyPressMsg); ok {
		c.keys++
	}
	_, cmd := c.Model.Update(msg)
	return c, cmd
}

func (c *counting) View() tea.View {
	v := c.Model.View()
	v.WindowTitle = titled + strconv.Itoa(c.keys)
	return v
}

// glass stands for a terminal. It reports when the frame with a title came.
type glass chan seen

type seen struct {
	keys int
	at   time.Time
}

func (g glass) Write(b []byte) (int, error) {
	for rest := b; ; {
		_, after, ok := bytes.Cut(rest, []byte(titled))
		if !ok {
			return len(b), nil
		}
		end := bytes.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if n, err := strconv.Atoi(string(after[:max(0, end)])); err == nil {
			g <- seen{n, time.Now()}
		}
		rest = after
	}
}

// until collects frames until the frame of a key.
func (g glass) until(t *testing.T, keys int, frames map[int]time.Time) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case s := <-g:
			frames[s.keys] = s.at
			if s.keys == keys {
				return
			}
		case <-patience:
			t.Fatalf("the frame of key %d never came, %d others did", keys, len(frames))
		}
	}
}
