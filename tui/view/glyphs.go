package view

import (
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/tui/screen"
)

// Glyphs is a set of signs to draw with.
type Glyphs int

const (
	// Unicode has lines, blocks and marks that every terminal font has. It has
	// no braille patterns: they are letters to those who read braille.
	Unicode Glyphs = iota
	// ASCII is for terminals and fonts that have nothing else.
	ASCII
)

// marks are the signs of a set. All but those named as words are one cell wide.
type marks struct {
	done, failed, current, held, toCome, unseen, waits, note string
	stuck, running, working, waiting, finished, gone         string
	live, connecting, replay, frozen, ended, record          string
	open, closed, cursor, cursorOff                          string
	lineH, lineV, teeDown, teeUp, teeRight, teeLeft, cross   string
	cornerTL, cornerTR, cornerBL, cornerBR                   string
	thumb, knob, played                                      string
	crumb, ellipsis, pointer, times, down, dot, critical     string
	request, answer, picked, bookmark, acts, logs            string
	grid, now, barEnd, barHalf, barPlain, barBusy, barNo     string
	barSlow, barFast                                         string // of two bars beside each other
	// heat are the levels of a heat line, the lowest first.
	heat []string
	// eighths are bars of one to seven eighths of a cell; empty if the set has none.
	eighths []string
}

var glyphSets = [...]marks{
	Unicode: {
		done: "✓", failed: "✗", current: "►", held: "■", toCome: "·", unseen: "◌", waits: "↻", note: "»",
		stuck: "!", running: "●", working: "►", waiting: "○", finished: "✓", gone: "×",
		live: "●", connecting: "◌", replay: "▮", frozen: "‖", ended: "○", record: "●",
		open: "▾", closed: "▸", cursor: "▌", cursorOff: "▏",
		lineH: "─", lineV: "│", teeDown: "┬", teeUp: "┴", teeRight: "├", teeLeft: "┤", cross: "┼",
		cornerTL: "╭", cornerTR: "╮", cornerBL: "╰", cornerBR: "╯",
		thumb: "┃", knob: "●", played: "━",
		crumb: "›", ellipsis: "…", pointer: "▸", times: "×", down: "↓", dot: "·", critical: "◆",
		request: "→", answer: "←", picked: "▣", bookmark: "§", acts: "●", logs: "≡",
		grid: "┊", now: "│", barEnd: "►", barHalf: "▐", barPlain: "█", barBusy: "█", barNo: "┄",
		barSlow: "█", barFast: "░",
		heat:    spread.HeatBlocks,
		eighths: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	},
	ASCII: {
		done: "v", failed: "x", current: "@", held: "#", toCome: ".", unseen: "?", waits: "~", note: "-",
		stuck: "!", running: "*", working: "@", waiting: "o", finished: "v", gone: "x",
		live: "*", connecting: "~", replay: "|", frozen: "=", ended: "o", record: "*",
		open: "-", closed: "+", cursor: ">", cursorOff: ":",
		lineH: "-", lineV: "|", teeDown: "+", teeUp: "+", teeRight: "+", teeLeft: "+", cross: "+",
		cornerTL: "+", cornerTR: "+", cornerBL: "+", cornerBR: "+",
		thumb: "|", knob: "o", played: "=",
		crumb: ">", ellipsis: "..", pointer: ">", times: "x", down: "v", dot: "-", critical: "*",
		request: "->", answer: "<-", picked: "%", bookmark: "&", acts: "*", logs: "=",
		grid: ":", now: "|", barEnd: ">", barHalf: "=", barPlain: "=", barBusy: "#", barNo: ".",
		barSlow: "#", barFast: "-",
		heat: spread.HeatSigns,
	},
}

// plainSigns maps signs in texts to signs that ASCII has: in the names of keys, around quoted words, where something
// was cut.
var plainSigns = map[string]string{
	"↑": "^", "↓": "v", "←": "<", "→": ">", "·": "-", "…": ".", "–": "-", "—": "-", "×": "x",
	"“": "\"", "”": "\"", "‘": "'", "’": "'",
}

// row returns the sign and the ink that say how far a row has come.
func (m *marks) row(r screen.RowMark) (string, ink) {
	switch r {
	case screen.RowDone:
		return m.done, inkDone
	case screen.RowFailed:
		return m.failed, inkFailed
	case screen.RowCurrent:
		return m.current, inkCurrent
	case screen.RowHeld:
		return m.held, inkHeld
	case screen.RowUnseen:
		return m.unseen, inkFaint
	case screen.RowWaits:
		return m.waits, inkWarn
	case screen.RowNoted:
		return m.note, inkAccent
	}
	return m.toCome, inkFaint
}

// pod returns the sign and the ink of a pod's state.
func (m *marks) pod(p life.State) (string, ink) {
	switch p {
	case life.Held:
		return m.held, inkHeld
	case life.Stuck:
		return m.stuck, inkFailed
	case life.Retrying:
		return m.waits, inkWarn
	case life.Working:
		return m.working, inkCurrent
	case life.Waiting:
		return m.waiting, inkMuted
	case life.Idle:
		return m.running, inkDone
	case life.Done:
		return m.finished, inkDone
	}
	return m.gone, inkFaint
}

// link returns the sign and the ink of the session's connection.
func (m *marks) link(l screen.Link) (string, ink) {
	switch l {
	case screen.LinkConnecting, screen.LinkReconnecting:
		return m.connecting, inkWarn
	case screen.LinkReplay:
		return m.replay, inkAccent
	case screen.LinkEnded:
		return m.ended, inkFailed
	}
	return m.live, inkDone
}
