package ask

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
)

// Input is a line that is typed at the foot of the screen.
type Input struct {
	Line
	// Help stands beside the line while nothing is offered.
	Help string
	// Typed is called with every change, Left that it was given up, with the text
	// that was there before.
	Typed func(string) error
	Left  func(was string)

	prompt, was string
	err         string
	// complete gives what the text may be meant to become.
	complete func(string) []string
	// offers are the completions that Tab goes round, nil until it is pressed.
	offers []string
	offer  int
	done   func(string) (tea.Cmd, error)
}

// NewInput asks for a line. done is called with what was typed; an error is shown,
// and the line stays. complete may be nil.
func NewInput(prompt, was string, complete func(string) []string, done func(string) (tea.Cmd, error)) *Input {
	return &Input{prompt: prompt, Line: NewLine(was), was: was, complete: complete, done: done}
}

// Key takes a key. It is over when the line is to go.
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

// Paste takes typed text.
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

// Offers is what is said of completions: Tab, and the first of them.
func Offers(offers []string) string {
	return "Tab: " + strings.Join(offers[:min(len(offers), shownOffers)], "  ")
}

// Error is what is wrong with the text, or empty.
func (in *Input) Error() string { return in.err }

// Draw is the line as the screen shows it.
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
