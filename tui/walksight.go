package tui

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/view"
)

// showLook scrolls the detail, once a stop, to what the stop of a walk speaks of, if that is out of sight.
func (m *Model) showLook() {
	stop := m.walk.Here()
	if stop == nil || stop == m.looked {
		return
	}
	s := m.screen()
	if s.Detail == nil || s.Detail.Step != stop.Step {
		return // the step is not selected yet
	}
	m.looked = stop
	_, shown := view.DetailRows(s, m.frame.styles)
	if top := lookTop(view.DetailText(s, m.frame.styles), stop, shown); top > 0 {
		m.state.ScrollDetail(top)
	}
}

// The signs before the request of a call, in Unicode and in ASCII.
const requestSign, requestSignASCII = "→ ", "-> "

// lookTop returns with which line the detail begins when it shows what a stop names; 0: the detail shows that unscrolled.
// If there is no room for all of it, the detail shows its beginning.
func lookTop(lines []string, stop *tours.Stop, shown int) int {
	first, last := -1, 0
	for i, line := range lines {
		line = strings.TrimLeft(line, " ")
		request := strings.HasPrefix(line, requestSign) || strings.HasPrefix(line, requestSignASCII)
		if !slices.ContainsFunc(stop.Look, func(look string) bool { return isNamed(line, look) || request && look == "request" }) {
			continue
		}
		if first < 0 {
			first = i
		}
		if last = i; request {
			last = len(lines) - 1
		}
	}
	if first < 0 || last < shown {
		return 0
	}
	if first > 0 && strings.TrimSpace(lines[first-1]) != "" {
		first-- // the heading above it
	}
	return first
}

// isNamed reports whether a line begins with the name of a value.
func isNamed(line, name string) bool {
	rest, is := strings.CutPrefix(line, name)
	return is && (rest == "" || rest[0] == ' ' || rest[0] == ':')
}
