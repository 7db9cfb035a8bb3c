package tui

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
)

// scrubParts is the number of parts into which scrubbing divides a file.
const scrubParts = 50

func seeking(to func(*Model) time.Duration) func(*Model) tea.Cmd {
	return intent(func(m *Model) { m.replay.seek(m, to(m)) })
}

var replayActions = append([]action{
	{id: "replay.play", keys: []string{"space"}, scope: inReplay, group: groupReplay, title: words.Text("Play, or stop", "播放或停止"),
		hint: words.Text("play", "播放"), rank: rank(90), do: func(m *Model) tea.Cmd { return m.replay.toggle(m) }},
	{id: "replay.forth", keys: []string{"."}, scope: inReplay, group: groupReplay, title: words.Text("To the pod's next event", "到该 Pod 的下一个事件"),
		hint: words.Text("forth", "前进"), rank: rank(88), do: intent(func(m *Model) { m.replay.stepEvent(m, false) })},
	{id: "replay.back", keys: []string{","}, scope: inReplay, group: groupReplay, title: words.Text("To the pod's previous event", "到该 Pod 的上一个事件"),
		hint: words.Text("back", "后退"), rank: rank(87), do: intent(func(m *Model) { m.replay.stepEvent(m, true) })},
	{id: "replay.scrubback", keys: []string{"W", "ctrl+left"}, scope: inReplay, group: groupReplay, title: words.Text("Back by a fiftieth of the file", "后退文件的五十分之一"),
		do: seeking(func(m *Model) time.Duration { return m.replay.at - m.replay.of/scrubParts })},
	{id: "replay.scrubforth", keys: []string{"E", "ctrl+right"}, scope: inReplay, group: groupReplay, title: words.Text("On by a fiftieth of the file", "前进文件的五十分之一"),
		do: seeking(func(m *Model) time.Duration { return m.replay.at + m.replay.of/scrubParts })},
	{id: "replay.slower", keys: []string{"("}, scope: inReplay, group: groupReplay, title: words.Text("Slower", "减速"),
		do: intent(func(m *Model) { m.replay.faster(m, -1) })},
	{id: "replay.faster", keys: []string{")"}, scope: inReplay, group: groupReplay, title: words.Text("Faster", "加速"),
		do: intent(func(m *Model) { m.replay.faster(m, 1) })},
	{id: "replay.start", keys: []string{"0", "home"}, scope: inReplay, group: groupReplay, title: words.Text("To the beginning of the file", "到文件开头"),
		do: seeking(func(*Model) time.Duration { return 0 })},
	{id: "replay.end", keys: []string{"$", "end"}, scope: inReplay, group: groupReplay, title: words.Text("To the end of the file", "到文件末尾"),
		do: seeking(func(m *Model) time.Duration { return m.replay.of })},
}, tenths()...)

// tenths returns the actions of the keys 1 to 9: go that many tenths into the file.
func tenths() (out []action) {
	for n := 1; n <= 9; n++ {
		digit := strconv.Itoa(n)
		out = append(out, action{
			id: "replay.to" + digit, keys: []string{digit}, scope: inReplay, group: groupReplay,
			title: words.Text("To "+digit+"0 % of the file", "到文件的 "+digit+"0%"),
			do:    seeking(func(m *Model) time.Duration { return m.replay.of * time.Duration(n) / 10 }),
		})
	}
	return out
}
