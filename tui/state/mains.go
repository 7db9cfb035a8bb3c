package state

import "github.com/podstep/podstep/tui/screen"

// mainPane is a view: one of the things that the main pane can show, and what the
// keys do in it while the pane has them. It keeps nothing: where the reader is in
// it is in the State.
type mainPane interface {
	// body works out as many rows as fit.
	body(s *State, rows int, v *view) screen.Body
	// move moves the selection by some rows, end to the last one.
	move(s *State, rows int, v *view)
	end(s *State)
	// open goes into the selected row. Back closes it, or goes one level out; it
	// returns false if it is at the outermost.
	open(s *State, v *view)
	back(s *State, v *view) bool
	// nextError selects the next row that failed, or the one before if dir is
	// negative. It returns false if there is none.
	nextError(s *State, dir int, v *view) bool
	// toggleFollow lets the selection go with what happens, or stay.
	toggleFollow(s *State, v *view)
	// sideways scrolls to the right, or to the left if dir is negative.
	sideways(s *State, dir int)
}

// mainPanes are all views, by name. Each puts itself into the list, in the file
// that has it.
var mainPanes = map[screen.Main]mainPane{}

// mainPane is the view that is shown.
func (s *State) mainPane() mainPane { return mainPanes[s.main] }

// SetMain chooses the view that the main pane shows, and gives it the keys. A view
// that there is not is not chosen.
func (s *State) SetMain(m screen.Main) {
	if mainPanes[m] != nil {
		s.main, s.focus = m, screen.PaneMain
	}
}
