package walkthroughs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

// generator writes the pages of one language.
type generator struct {
	language
	catalogue *probes.Catalogue
	anchors   map[string]string
	walks     []tours.Tour
	b         strings.Builder
}

func (g *generator) f(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

// takeText returns what was written, and begins anew.
func (g *generator) takeText() string {
	s := g.b.String()
	g.b.Reset()
	return s
}

// text returns a text of the walk on one line.
func (g *generator) text(t probes.Text) string { return strings.Join(strings.Fields(g.of(t)), " ") }

func (g *generator) index() string {
	g.f("<!-- %s -->\n\n# %s\n\n[%s](README%s)\n\n%s\n\n", g.words["generated"], g.words["title"], g.other, g.otherEnding, g.words["intro"])
	g.f("%s\n```sh\npodstep lab --tour creation%s\n```\n%s\n\n", g.words["start"], g.lang(), g.words["keys"])
	g.f("| %s | | %s | %s |\n|---|---|---|---|\n", g.words["walk"], g.words["stops"], g.words["needs"])
	for i := range g.walks {
		t := &g.walks[i]
		g.f("| [%s](%s%s) | %s | %d | %s |\n", g.text(t.Title), t.Name, g.ending, g.text(t.Text), len(t.Stops), g.needs(t))
	}
	return g.takeText()
}

// lang returns the flag that makes the terminal UI speak the page's language.
func (g *generator) lang() string {
	if g.ending == ".md" {
		return ""
	}
	return " --lang zh"
}

func (g *generator) page(t *tours.Tour) string {
	g.f("<!-- %s -->\n\n# %s\n\n[%s](%s%s) · [%s](README%s)\n\n%s\n\n", g.words["generated"], g.text(t.Title),
		g.other, t.Name, g.otherEnding, g.words["all"], g.ending, g.text(t.Text))
	g.follow(t)
	for i := range t.Stops {
		g.stop(t, i)
	}
	g.f("%s\n\n%s\n", g.words["ending"], g.text(t.Ending))
	if commands := cleanup(t); commands != "" {
		g.f("\n%s\n\n```sh\n%s```\n", g.words["cleanup"], commands)
	}
	if next := tours.Find(g.walks, t.Next); next != nil {
		g.f("\n%s%s[%s](%s%s)\n", g.words["next"], g.words["colon"], g.text(next.Title), next.Name, g.ending)
	}
	return g.takeText()
}

// follow writes how to walk along.
func (g *generator) follow(t *tours.Tour) {
	g.f("%s\n\n%s\n```sh\npodstep lab --tour %s%s\n```\n%s\n\n", g.words["follow"], g.words["tui"], t.Name, g.lang(), g.words["keys"])
	g.f("%s\n```sh\npodstep-lab --dir /tmp/lab%s\n```\n", g.words["cli"], labFlags(t))
	g.f("%s\n```sh\nexport KUBECONFIG=/tmp/lab/kubeconfig PODSTEP_SOCKET=/tmp/lab/agent.sock\n```\n%s\n\n", g.words["env"], g.words["hand"])
	g.f("%s%s%s%s\n\n", g.words["needs"], g.words["colon"], g.needs(t), g.words["stop"])
	if t.Manifest != "" {
		g.f(g.words["manifest"]+"\n```yaml\n%[2]s```\n\n", t.Name+".yaml", t.Manifest)
	}
}

// needs returns what kind of lab a walk needs.
func (g *generator) needs(t *tours.Tour) string {
	if t.Needs.Devices {
		return g.words["devices"]
	}
	return g.words[string(t.Needs.Runtime)]
}

// labFlags returns the flags with which a walk's lab is started.
func labFlags(t *tours.Tour) string {
	if t.Needs.Devices {
		return " --devices 1"
	}
	return ""
}

func (g *generator) stop(t *tours.Tour, i int) {
	s := &t.Stops[i]
	g.f("## %d. %s\n\n", i+1, g.text(s.Title))
	if s.Act == nil {
		g.f("%s\n\n", g.place(t, s))
	}
	g.f("%s\n\n", g.text(s.Text))
	g.listed("look", s.Look, g.field)
	g.listed("shows", s.Shows, g.link)
	g.commands(t, i)
	if q := s.Question; q != nil {
		g.f("<details>\n<summary>%s%s%s</summary>\n\n%s\n\n</details>\n\n", g.words["question"], g.words["colon"], g.text(q.Text), g.text(q.Answer))
	}
}

// place returns which event the stop is.
func (g *generator) place(t *tours.Tour, s *tours.Stop) string {
	on := g.words[string(s.On)]
	if s.Failed {
		on = g.words["fails"]
	}
	parts := []string{g.link(s.Step) + " " + on}
	if len(s.Where) > 0 {
		parts = append(parts, g.words["with"]+" "+where(s))
	}
	if s.Pod != t.Pod {
		if s.Pod == "" {
			parts = append(parts, g.words["ofnode"])
		} else {
			parts = append(parts, "`"+s.Pod+"`")
		}
	}
	switch {
	case s.Hold == tours.HoldPod:
		parts = append(parts, g.words["held"])
	case s.Hold == tours.HoldNode:
		parts = append(parts, g.words["node"])
	case t.Needs.Recorded:
		parts = append(parts, g.words["recorded"])
	default:
		parts = append(parts, g.words["watched"])
	}
	return strings.Join(parts, " · ") + "\n\n" + g.symbol(g.catalogue.Step(s.Step))
}

// symbol returns where the step is in the kubelet.
func (g *generator) symbol(s *probes.Step) string {
	out := "`" + s.Symbol + "`"
	if s.Closure != "" {
		out += g.words["closure"] + " `" + s.Closure + "`"
	}
	return out + " · `" + s.File + "`"
}

// field returns the name of something to look at: a field, or a part of the screen.
func (g *generator) field(name string) string {
	if strings.HasPrefix(name, "@") {
		return g.words[name]
	}
	return "`" + name + "`"
}

func (g *generator) listed(word string, names []string, show func(string) string) {
	if len(names) == 0 {
		return
	}
	var out []string
	for _, n := range names {
		out = append(out, show(n))
	}
	g.f("%s%s%s%s\n\n", g.words[word], g.words["colon"], strings.Join(out, g.words["sep"]), g.words["stop"])
}

// link returns a link to a step's entry on the page of steps.
func (g *generator) link(step string) string {
	return fmt.Sprintf("[`%s`](../steps.md#%s)", step, g.anchors[step])
}

// where returns the values that a stop asks for.
func where(s *tours.Stop) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Where)) {
		out = append(out, "`"+name+"="+strings.ReplaceAll(s.Where[name], "[[]", "[")+"`")
	}
	return strings.Join(out, ", ")
}

// anchors returns the anchors of the headings on the page of steps. A heading that differs from
// an earlier one only in dots and capitals gets a number.
func anchors(c *probes.Catalogue) map[string]string {
	out, used := map[string]string{}, map[string]int{}
	heading := func(name string) string {
		a := strings.ToLower(strings.ReplaceAll(name, ".", ""))
		n := used[a]
		used[a]++
		if n > 0 {
			a = fmt.Sprintf("%s-%d", a, n)
		}
		return a
	}
	stage := ""
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Stage != stage {
			stage = s.Stage
			heading(stage)
		}
		out[c.Steps[i].Name] = heading(c.Steps[i].Name)
	}
	return out
}
