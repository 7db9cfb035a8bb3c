package ask

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
)

// Input is a line that is typed at the foot of the screen.
type Input struct {
	Line
	// Help is shown beside the line while no completions are offered.
	Help string
	// Typed is called with the text after every change. Left is called with the former text when the person gives
	// up.
	Typed func(string) error
	Left  func(was string)

	prompt, was string
	err         string
	// complete returns completions of the text.
	complete func(string) []string
	// offers are the completions through which Tab goes, nil until it is pressed.
	offers []string
	offer  int
	done   func(string) (tea.Cmd, error)
}

// NewInput asks for a line. done is called with the text; if it returns an error, the error is shown and the line
// stays. complete may be nil.
func NewInput(prompt, was string, complete func(string) []string, done func(string) (tea.Cmd, error)) *Input {
	return &Input{prompt: prompt, Line: NewLine(was), was: was, complete: complete, done: done}
}

// Key takes a key. over reports that the line is to be taken away.
func (in *Input) Key(k tea.KeyPressMsg) (cmd tea.Cmd, over bool) {
	switch k.String() {
	case "esc":
		if in.Left != nil {
			in.Left(in.was)
		}
		return nil, true
	case "enter":
		cmd, err := in.done(strings.TrimSpace(in.String()))
		if err != nil {
			in.err = err.Error()
			return nil, false
		}
		return cmd, true
	case "tab", "shift+tab":
		in.tab(k.String() == "tab")
		return nil, false
	}
	if in.Edit(k) {
		in.changed()
	}
	return nil, false
}

// Paste takes text that is pasted.
func (in *Input) Paste(s string) {
	in.Insert(s)
	in.changed()
}

func (in *Input) changed() {
	in.offers, in.err = nil, ""
	if in.Typed == nil {
		return
	}
	if err := in.Typed(in.String()); err != nil {
		in.err = err.Error()
	}
}

// tab puts in the next completion.
func (in *Input) tab(forth bool) {
	if in.complete == nil {
		return
	}
	if in.offers == nil {
		in.offers, in.offer = in.complete(in.String()), -1
		if !forth {
			in.offer = 0
		}
	}
	if len(in.offers) == 0 {
		return
	}
	if forth {
		in.offer = (in.offer + 1) % len(in.offers)
	} else {
		in.offer = (in.offer + len(in.offers) - 1) % len(in.offers)
	}
	offers, offer := in.offers, in.offer
	in.Set(offers[offer])
	in.changed()
	in.offers, in.offer = offers, offer
}

// shownOffers is how many completions are shown at once.
const shownOffers = 5

// Offers returns the line that offers completions: Tab, and the first of them.
func Offers(offers []string) string {
	return "Tab: " + strings.Join(offers[:min(len(offers), shownOffers)], "  ")
}

// Error says what is wrong with the text; empty if nothing is.
func (in *Input) Error() string { return in.err }

// Draw returns the line as the screen shows it.
func (in *Input) Draw() *screen.Input {
	out := &screen.Input{Prompt: in.prompt, Text: in.String(), Cursor: in.at, Error: in.err, Help: in.Help}
	offers := in.offers
	if offers == nil && in.complete != nil {
		offers = in.complete(in.String())
	}
	if len(offers) > 0 {
		out.Help = Offers(offers)
		if len(offers) > shownOffers {
			out.Help += " …"
		}
	}
	return out
}
