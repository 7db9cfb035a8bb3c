package state

import "github.com/podstep/podstep/tui/screen"

// mainPane is a view that the main pane can show, with what the keys do in it. It keeps nothing: the State knows the
// reader's place in it.
type mainPane interface {
	// body returns the view's body, with as many rows as fit.
	body(s *State, rows int, v *view) screen.Body
	// move moves the selection by some rows. end moves it to the last row.
	move(s *State, rows int, v *view)
	end(s *State)
	// open goes into the selected row. back closes the row, or goes one level out; it returns false if there is no
	// level around.
	open(s *State, v *view)
	back(s *State, v *view) bool
	// nextError selects the next row that failed, or the previous one if dir is negative. It returns false if there
	// is none.
	nextError(s *State, dir int, v *view) bool
	// toggleFollow lets the selection follow what happens, or stay.
	toggleFollow(s *State, v *view)
	// sideways scrolls to the right, or to the left if dir is negative.
	sideways(s *State, dir int)
}

// mainPanes has all views, by name. Each is added in the file that has it.
var mainPanes = map[screen.Main]mainPane{}

// mainPane returns the view that is shown.
func (s *State) mainPane() mainPane { return mainPanes[s.main] }

// SetMain chooses the view that the main pane shows, and gives it the keys. It ignores a name that no view has.
func (s *State) SetMain(m screen.Main) {
	if mainPanes[m] != nil {
		s.main, s.focus = m, screen.PaneMain
	}
}
