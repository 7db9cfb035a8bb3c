package tui

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
)

// openPalette lists all that can be done, all pods, and all steps.
func (m *Model) openPalette() tea.Cmd {
	all := m.actionChoices()
	moves := m.text(groupTitles[groupMove])
	slices.SortStableFunc(all, func(a, b ask.Choice) int { return cmp.Compare(useful(&a, moves), useful(&b, moves)) })
	all = append(all, m.podChoices()...)
	all = append(all, m.stepChoices()...)
	m.push(ask.NewPicker(screen.OverPalette, m.text(words.Text("Commands, pods and steps", "命令、Pod 和步骤")), ":", all))
	return nil
}

var helpTitle = words.Text("Keys · type to search, also by key", "按键 · 输入即可搜索，也可按键名")

// openHelp lists all keys. A person searches it by what the keys do, and by the key.
func (m *Model) openHelp() tea.Cmd {
	p := ask.NewPicker(screen.OverHelp, m.text(helpTitle), "/", m.actionChoices())
	p.ByKey = true
	m.push(p)
	return nil
}

// useful orders the commands of the palette: first those that do something now, then those that do not, and last the
// group of moves, which everybody does by keys.
func useful(c *ask.Choice, moves string) int {
	switch {
	case c.Group == moves:
		return 2
	case c.Off != "":
		return 1
	}
	return 0
}

func (m *Model) actionChoices() (out []ask.Choice) {
	for i := range m.actions {
		a := &m.actions[i]
		c := ask.Choice{
			ID: a.id, Group: m.text(groupTitles[a.group]), Text: m.text(a.title), Also: a.id,
			Key: a.keyNames(), Off: m.offReason(a), Do: func() tea.Cmd { return a.do(m) },
		}
		if a.moves != nil && c.Off == "" && a.moves(m) != "" {
			c.Text += " · " + a.moves(m)
		}
		out = append(out, c)
	}
	return out
}

// podChoices returns the pods, each pod in trouble with the reason.
func (m *Model) podChoices() (out []ask.Choice) {
	group := m.text(words.Text("Pods", "Pod"))
	for _, r := range withoutNodeRow(m.state.PodsInFull()) {
		line := probes.Pod{Namespace: r.Namespace, Name: r.Name}.NamespacedName() + "  " + r.Word
		if r.Line != "" {
			line += ": " + r.Line
		}
		out = append(out, ask.Choice{ID: "pod." + r.UID, Group: group, Text: line, Do: func() tea.Cmd {
			m.state.SelectPod(r.Key)
			return nil
		}})
	}
	return out
}

// stepChoices returns the steps of the catalogue. Choosing one goes there in the story of the selected pod, or shows
// what the step is for.
func (m *Model) stepChoices() (out []ask.Choice) {
	group := m.text(words.Text("Steps", "步骤"))
	for i := range m.catalogue().Steps {
		s := &m.catalogue().Steps[i]
		out = append(out, ask.Choice{
			ID: "to." + s.Name, Group: group, Text: s.Name + "  " + m.text(s.Title), Also: s.Title.En,
			Do: func() tea.Cmd { return m.toStep(s) },
		})
	}
	return out
}

func (m *Model) toStep(s *probes.Step) tea.Cmd {
	if m.state.SelectStep(s.Name) {
		m.state.SetMain(screen.MainStory)
		return nil
	}
	lines := append([]string{m.text(s.Title), ""}, ask.Paragraphs(m.text(s.Text))...)
	if !s.Outside() {
		lines = append(lines, "", s.Symbol, s.File)
	}
	if why := m.unseen(s.Name); why != "" {
		lines = append(lines, "", why)
	} else if err := m.checkHold(s.Name); !m.state.Knows().Nesting && err != nil {
		lines = append(lines, "", err.Error())
	}
	m.push(&ask.Page{Title: s.Name, Lines: lines})
	return nil
}

func (m *Model) catalogue() *probes.Catalogue { return probes.MustLoad() }

// unseen returns why no probe sees a step; empty if one does.
func (m *Model) unseen(step string) string {
	if why, is := m.state.Unseen(step); is {
		return m.textf(words.Text("not seen here: %s", "此处看不到：%s"), why)
	}
	return ""
}

// checkHold refuses a step at which this agent holds no pod, and says why. The agent itself checks a pattern of
// several steps.
func (m *Model) checkHold(name string) error {
	if why, is := m.state.NoHold(name); is {
		return fmt.Errorf("%s", m.textf(words.Text("a pod cannot be held at %s: %s", "不能停在 %s：%s"), name, why))
	}
	return nil
}

// completeStep returns the steps that the typed text may mean: by name, or by a part of it.
func (m *Model) completeStep(typed string) (out []string) { return stepsLike(m.catalogue(), typed) }

// checkStep refuses a name that no step has.
func (m *Model) checkStep(glob string) error {
	if glob == "" {
		return fmt.Errorf("%s", m.text(words.Text("name a step; Tab completes", "请输入步骤名；按 Tab 补全")))
	}
	for i := range m.catalogue().Steps {
		if ok, err := path.Match(glob, m.catalogue().Steps[i].Name); ok {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s", m.textf(words.Text("%q is not a valid pattern", "%q 不是有效的模式"), glob))
		}
	}
	return fmt.Errorf("%s", m.textf(words.Text("there is no step %q; Tab completes", "没有步骤 %q；按 Tab 补全"), glob))
}
