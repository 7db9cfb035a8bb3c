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

// scope says when an action's keys count. If two actions have the same key, the one with the narrower scope gets it.
type scope int

const (
	anywhere scope = iota
	inStory
	inReplay
	inTimeline
	inEvents
	inBreaks
	inWhy
	inTop
	inTour
	inFind
)

// scopes in the order in which keys are looked up.
var scopes = []scope{inFind, inTour, inWhy, inTop, inBreaks, inTimeline, inStory, inEvents, inReplay, anywhere}

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
	// hint is the word or two in the footer. An action without a hint is never there.
	hint text
	// rank says how much the action is wanted in the footer now. The highest ranks come first; an action of rank
	// zero is left out.
	rank func(*Model) int
	// off returns why the action does nothing now; the zero text if it does something.
	off func(*Model) text
	// moves names the pod that the action acts on now, empty if there is none; the footer, the palette and the help
	// page show it. Nil: the action acts on no pod.
	moves func(*Model) string
	// brief returns the footer's hint for an action whose hint names the pod itself.
	brief func(*Model) string
	do    func(*Model) tea.Cmd
	// onTop: the keys count as well while something is on top of the screen or a line is typed.
	onTop bool
}

// actions is the table. init makes it, because help and palette, which are actions, list the table themselves.
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
	case inTop:
		return m.main() == screen.MainTop
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

// scopeReasons say why an action does nothing outside of its scope.
var scopeReasons = map[scope]text{
	inReplay:   words.Text("only while a trace file is replayed", "仅在回放跟踪文件时可用"),
	inTimeline: words.Text("only in the timeline", "仅在时间线中可用"),
	inEvents:   words.Text("only in the list of events", "仅在事件列表中可用"),
	inBreaks:   words.Text("only in the list of breakpoints", "仅在断点列表中可用"),
	inWhy:      words.Text("only at a cause that a walk explains", "仅在有导览讲解的原因上可用"),
	inTop:      words.Text("only in the list of durations", "仅在耗时列表中可用"),
	inFind:     words.Text("only while a text is looked for", "仅在查找文字时可用"),
	inStory:    words.Text("only in the pipeline", "仅在流水线中可用"),
	inTour:     words.Text("no guided walk is on", "当前没有进行导览"),
}

// offReason returns why an action does nothing now; empty if it does something.
func (m *Model) offReason(a *action) string {
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

// lookupOnTop finds the action of a key while something is on top of the screen. What is on top takes the keys that
// write, move or leave. So only keys with Ctrl or Alt count, and F1 to F12.
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
	if why := m.offReason(a); why != "" {
		m.notice(m.text(a.title) + ": " + why)
		return nil
	}
	return a.do(m)
}

// keyName returns a key as people write it.
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

// keyPlace matches the places where a text names the key of an action.
var keyPlace = regexp.MustCompile(`\{key:[a-z.0-9]+\}`)

// named fills in the keys that a text names: it replaces {key:hold.pod} by the first key of that action in the
// table, as write spells it.
func named(table []action, s string, write func(key string) string) string {
	return keyPlace.ReplaceAllStringFunc(s, func(place string) string {
		id := strings.TrimSuffix(strings.TrimPrefix(place, "{key:"), "}")
		if i := slices.IndexFunc(table, func(a action) bool { return a.id == id }); i >= 0 {
			return write(table[i].keys[0])
		}
		return place
	})
}

// keyInFormat returns a key's name for a format string, in which a % is doubled.
func keyInFormat(key string) string { return strings.ReplaceAll(keyName(key), "%", "%%") }

// keyNames lists all keys of an action.
func (a *action) keyNames() string { return keyNames(a.keys) }

func keyNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyName(k)
	}
	return strings.Join(names, " ")
}

// rank returns a rank function that always returns n.
func rank(n int) func(*Model) int { return func(*Model) int { return n } }
