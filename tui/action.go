package tui

import (
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// text is something for a person to read, in each language.
type text = probes.Text

// scope is when an action's keys count. Of two actions with the same key the
// one whose scope is narrower has it.
type scope int

const (
	anywhere scope = iota
	inStory
	inReplay
	inTimeline
	inEvents
	inBreaks
	inWhy
	inTour
	inFind
)

// scopes in the order in which keys are looked up.
var scopes = []scope{inFind, inTour, inWhy, inBreaks, inTimeline, inStory, inEvents, inReplay, anywhere}

// group is a heading of the help page.
type group int

const (
	groupMove group = iota
	groupStep
	groupHold
	groupLook
	groupReplay
	groupTour
	groupScreen
	groupLeave
)

var groupTitles = map[group]text{
	groupMove:   words.Text("Move", "移动"),
	groupStep:   words.Text("Step a held pod", "单步执行被停住的 Pod"),
	groupHold:   words.Text("Hold and let go", "停住与放行"),
	groupLook:   words.Text("Look", "查看"),
	groupReplay: words.Text("Replay a trace file", "回放跟踪文件"),
	groupTour:   words.Text("Guided walk", "导览"),
	groupScreen: words.Text("Screen", "屏幕"),
	groupLeave:  words.Text("Leave", "离开"),
}

// action is one thing that a person can do. Keys, palette, help, footer and
// docs/keys.md are all made from the table of actions.
type action struct {
	id    string
	keys  []string
	scope scope
	group group
	title text
	// hint is the word or two in the footer. Without one it is never there.
	hint text
	// rank is how much it is wanted in the footer now; the highest come first,
	// and those of zero do not come.
	rank func(*Model) int
	// off is why it does nothing now; the zero text if it does.
	off func(*Model) text
	// moves names the pod that it acts on now, empty if there is none; the
	// footer, the palette and the help page say so. Nil: it acts on no pod.
	moves func(*Model) string
	// brief is the footer's hint where that names the pod itself.
	brief func(*Model) string
	do    func(*Model) tea.Cmd
	// onTop: its keys count while something is on top of the screen, or typed, as well.
	onTop bool
}

// actions is the table. It is made by init, because what actions do leads back
// to the table: help and palette list it.
var actions []action

func init() {
	actions = slices.Concat(moveActions, findActions, stepActions, holdActions, lookActions, replayActions, tourActions, screenActions, leaveActions)
}

// active reports whether a scope's keys count now.
func (m *Model) active(s scope) bool {
	switch s {
	case inReplay:
		return m.replay != nil
	case inTimeline:
		return m.timelineShown()
	case inEvents:
		return m.main() == screen.MainEvents
	case inBreaks:
		return m.breaksShown()
	case inWhy:
		return m.main() == screen.MainWhy && m.state.SelectedWalk() != ""
	case inTour:
		return m.walk != nil
	case inFind:
		return m.find.Text() != ""
	case inStory:
		return m.main() == screen.MainStory
	}
	return true
}

// scopeReasons are why an action is not there outside of its scope.
var scopeReasons = map[scope]text{
	inReplay:   words.Text("only while a trace file is replayed", "仅在回放跟踪文件时可用"),
	inTimeline: words.Text("only in the timeline", "仅在时间线中可用"),
	inEvents:   words.Text("only in the list of events", "仅在事件列表中可用"),
	inBreaks:   words.Text("only in the list of breakpoints", "仅在断点列表中可用"),
	inWhy:      words.Text("only at a cause that a walk explains", "仅在有导览讲解的原因上可用"),
	inFind:     words.Text("only while a text is looked for", "仅在查找文字时可用"),
	inStory:    words.Text("only in the pipeline", "仅在流水线中可用"),
	inTour:     words.Text("no guided walk is on", "当前没有进行导览"),
}

// why reports why an action does nothing now; empty if it does.
func (m *Model) why(a *action) string {
	if !m.active(a.scope) {
		return m.text(scopeReasons[a.scope])
	}
	if a.off == nil {
		return ""
	}
	return m.text(a.off(m))
}

// lookup finds the action of a key.
func (m *Model) lookup(key string) *action {
	for _, s := range scopes {
		if !m.active(s) {
			continue
		}
		for i := range m.actions {
			if a := &m.actions[i]; a.scope == s && slices.Contains(a.keys, key) {
				return a
			}
		}
	}
	return nil
}

// lookupOnTop finds the action of a key whatever is on top. What is there has the keys
// that write, move or leave for itself: only those with Ctrl or Alt, and F1 to F12, count.
func (m *Model) lookupOnTop(key string) *action {
	function := len(key) > 1 && key[0] == 'f'
	if !function && !strings.HasPrefix(key, "ctrl+") && !strings.HasPrefix(key, "alt+") {
		return nil
	}
	if a := m.lookup(key); a != nil && a.onTop {
		return a
	}
	return nil
}

// run does an action, or says why not.
func (m *Model) run(a *action) tea.Cmd {
	if why := m.why(a); why != "" {
		m.notice(m.text(a.title) + ": " + why)
		return nil
	}
	return a.do(m)
}

// keyName is how a key is written for people.
func keyName(key string) string {
	switch key {
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	case "pgup":
		return "PgUp"
	case "pgdown":
		return "PgDn"
	case "home", "end", "esc", "tab", "enter", "space", "delete":
		return strings.ToUpper(key[:1]) + key[1:]
	}
	if len(key) > 1 && key[0] == 'f' && key[1] >= '0' && key[1] <= '9' {
		return strings.ToUpper(key)
	}
	if mod, rest, two := strings.Cut(key, "+"); two && mod != "" && rest != "" {
		return strings.ToUpper(mod[:1]) + mod[1:] + "+" + keyName(rest)
	}
	return key
}

// keyPlace is where a text names the key of an action.
var keyPlace = regexp.MustCompile(`\{key:[a-z.0-9]+\}`)

// named fills in the keys that a text names: {key:hold.pod} becomes the first key that
// the action has in the table, as write writes it.
func named(table []action, s string, write func(key string) string) string {
	return keyPlace.ReplaceAllStringFunc(s, func(place string) string {
		id := strings.TrimSuffix(strings.TrimPrefix(place, "{key:"), "}")
		if i := slices.IndexFunc(table, func(a action) bool { return a.id == id }); i >= 0 {
			return write(table[i].keys[0])
		}
		return place
	})
}

// keyInFormat is how a key is written in what is formatted: one may be %.
func keyInFormat(key string) string { return strings.ReplaceAll(keyName(key), "%", "%%") }

// keyNames lists all keys of an action.
func (a *action) keyNames() string {
	names := make([]string, len(a.keys))
	for i, k := range a.keys {
		names[i] = keyName(k)
	}
	return strings.Join(names, " ")
}

// rank gives an action the same place in the footer whatever is on the screen.
func rank(n int) func(*Model) int { return func(*Model) int { return n } }
