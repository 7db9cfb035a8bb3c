package tui

import (
	"strings"

	"github.com/sahilm/fuzzy"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
)

// maxOffers bounds the completions of a line.
const maxOffers = 20

// stepsLike returns names of steps: first those that begin with typed, then those that have its letters in the name
// or the title.
func stepsLike(c *probes.Catalogue, typed string) (out []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] && len(out) < maxOffers {
			seen[name] = true
			out = append(out, name)
		}
	}
	lower := strings.ToLower(typed)
	for i := range c.Steps {
		if strings.HasPrefix(strings.ToLower(c.Steps[i].Name), lower) {
			add(c.Steps[i].Name)
		}
	}
	if typed == "" {
		return out
	}
	for i := range c.Steps {
		if strings.Contains(strings.ToLower(c.Steps[i].Name), lower) {
			add(c.Steps[i].Name)
		}
	}
	for _, f := range fuzzy.FindFrom(typed, stepTitles(c.Steps)) {
		add(c.Steps[f.Index].Name)
	}
	return out
}

type stepTitles []probes.Step

func (s stepTitles) Len() int { return len(s) }
func (s stepTitles) String(i int) string {
	return s[i].Name + " " + s[i].Title.En + " " + s[i].Title.Zh
}

// completeFilter returns completions of a filter, with the names of the present pods.
func (m *Model) completeFilter(typed string) (out []string) {
	values := func(key string) (names []string) {
		for _, r := range m.pods() {
			switch key {
			case "pod":
				names = append(names, r.Name)
			case "ns":
				names = append(names, r.Namespace)
			}
		}
		return names
	}
	for _, c := range filter.Completions(typed, values) {
		if len(out) < maxOffers {
			out = append(out, c.Text)
		}
	}
	return out
}

// filterHelp returns a line of examples of the filter language.
func filterHelp(l words.Lang) string {
	var parts []string
	for _, d := range filter.Describe(string(l)) {
		if len(parts) < maxHints {
			parts = append(parts, d.Form)
		}
	}
	return strings.Join(parts, "   ")
}
