package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/tours"
)

var tourActions = []action{
	{id: "tour.list", keys: []string{"T"}, group: groupTour, title: words.Text("Guided walks", "导览列表"), do: (*Model).listTours},
	{id: "tour.next", keys: []string{"n", "enter"}, scope: inTour, group: groupTour, title: words.Text("To the walk's next stop", "到导览的下一站"),
		hint: words.Text("next stop", "下一站"), rank: rank(99), do: (*Model).followWalk},
	{id: "tour.answer", keys: []string{"a"}, scope: inTour, group: groupTour, title: words.Text("Show the answer", "显示答案"),
		hint: words.Text("answer", "答案"), rank: rankQuestion, off: offNoQuestion, do: intent(func(m *Model) { m.walk.ToggleAnswer() })},
	{id: "tour.read", keys: []string{"v"}, scope: inTour, group: groupTour, title: words.Text("Read the walk's card in full", "完整阅读导览卡片"),
		hint: words.Text("read all", "全文"), rank: rankRead, do: (*Model).readWalk},
	{id: "tour.end", keys: []string{"x"}, scope: inTour, group: groupTour, title: words.Text("End the walk", "结束导览"),
		hint: words.Text("end the walk", "结束导览"), rank: rank(80), do: (*Model).endWalk},
}

// rankRead ranks reading the card high where the card has little room.
func rankRead(m *Model) int {
	if m.frame.options.Height < 30 {
		return 98
	}
	return 40
}

// question returns the question of the present stop, or nil.
func (m *Model) question() *tours.Question {
	if m.walk == nil {
		return nil
	}
	return m.walk.Question()
}

func offNoQuestion(m *Model) text {
	if m.question() == nil {
		return words.Text("there is no question here", "这一站没有问题")
	}
	return text{}
}

func rankQuestion(m *Model) int {
	if m.question() != nil {
		return 98
	}
	return 0
}

// listTours lists the walks, in the order in which they are best taken.
func (m *Model) listTours() tea.Cmd {
	all, err := tours.Load()
	if err != nil {
		m.fail(err)
		return nil
	}
	finished, next := recall(m.opts.StateFile).Walks, -1
	var choices []ask.Choice
	for i := range all {
		t := &all[i]
		c := ask.Choice{
			ID: "tour." + t.Name, Text: m.text(t.Title), Also: t.Name, Off: m.walkOff(t),
			Do: func() tea.Cmd { return m.startWalk(t) },
		}
		switch {
		case slices.Contains(finished, t.Name):
			c.Key = m.text(words.Text("finished", "已走完"))
		case next < 0 && c.Off == "":
			next = i
		}
		choices = append(choices, c)
	}
	p := ask.NewPicker(screen.OverTours, m.text(words.Text("Guided walks · type to search", "导览 · 输入即可搜索")), "/", choices)
	p.Move(max(next, 0))
	m.push(p)
	return nil
}

// offerTour starts the walk that was asked for on the command line. Otherwise it offers the first walk, on a lab in
// which nothing runs yet, to a person who has never finished a walk.
func (m *Model) offerTour() tea.Cmd {
	if !m.caughtUp || !m.linked || (m.offered && m.opts.Tour == "") {
		return nil
	}
	all, err := tours.Load()
	if err != nil || len(all) == 0 {
		m.offered = true
		return nil
	}
	if name := m.opts.Tour; name != "" {
		m.opts.Tour, m.offered = "", true
		if t := tours.Find(all, name); t != nil {
			return m.startWalk(t)
		}
		m.notice(m.textf(words.Text("there is no walk %q; {key:tour.list} lists them", "没有导览 %q；按 {key:tour.list} 查看列表"), name))
		return nil
	}
	m.offered = true
	if !m.inLab() || m.state.Pods() > 0 || m.walk != nil || m.walked() {
		return nil
	}
	first := &all[0]
	return m.appear(&ask.Dialog{
		Title: m.text(words.Text("A first walk?", "来一次导览？")),
		Text: append([]string{m.text(first.Title), ""}, append(ask.Paragraphs(m.text(first.Text)), "",
			m.text(words.Text("{key:tour.list} lists all walks later.", "以后可按 {key:tour.list} 查看所有导览。")))...),
		Buttons: []string{m.text(words.Text("Not now", "以后再说")), m.text(words.Text("Walk", "开始"))},
		Chosen:  1,
		Chose: func(button int) tea.Cmd {
			if button != 1 {
				return nil
			}
			return m.startWalk(first)
		},
	})
}
