package tours

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/probes"
)

// seed is a thing that walkthroughs of the kubelet name; see docs/tours/seeds.yaml.
type seed struct {
	Name, Step, Symbol, Gone, Word, Zh, Asked, Unseen string

	Text string // the walk whose text names it
	Was  []string
}

// TestSeeds: the walks together show all that is in seeds.yaml.
func TestSeeds(t *testing.T) {
	all, c := loaded(t), probes.MustLoad()
	var seeds struct{ Functions, Numbered, Things, Questions []seed }
	file, err := os.ReadFile("../../docs/tours/seeds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(file))
	d.KnownFields(true)
	if err := d.Decode(&seeds); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]seed{seeds.Functions, seeds.Numbered, seeds.Things, seeds.Questions} {
		for _, s := range list {
			if s.Step == "" && s.Text == "" && s.Asked == "" {
				t.Errorf("%s: nothing says where it is", s.Name)
			}
			checkStep(t, all, c, s)
			checkInText(t, all, s)
			checkAsked(t, all, s)
		}
	}
	for _, s := range seeds.Functions {
		if n := countOf(s.Step != "", s.Symbol != "", s.Gone != ""); n != 1 {
			t.Errorf("%s: is a step, or is named in a text with its symbol, or is gone: one of them", s.Name)
		}
		if s.Symbol != "" && isStep(c, s.Symbol) {
			t.Errorf("%s: is a step of the catalogue by now; say so", s.Name)
		}
	}
}

func countOf(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

func isStep(c *probes.Catalogue, symbol string) bool {
	for i := range c.Steps {
		if c.Steps[i].Closure == "" && c.Steps[i].Symbol == symbol {
			return true
		}
	}
	return false
}

// checkStep checks that a walk stops at the step, or shows it.
func checkStep(t *testing.T, all []Tour, c *probes.Catalogue, s seed) {
	if s.Step == "" {
		return
	}
	if c.Step(s.Step) == nil {
		t.Errorf("%s: there is no step %s", s.Name, s.Step)
	}
	if s.Unseen != "" {
		return
	}
	for i := range all {
		for j := range all[i].Stops {
			stop := &all[i].Stops[j]
			if stop.Step == s.Step {
				return
			}
			for _, shown := range stop.Shows {
				if shown == s.Step {
					return
				}
			}
		}
	}
	t.Errorf("%s: no walk shows %s", s.Name, s.Step)
}

// checkInText checks that the walk's text names the seed, in both languages.
func checkInText(t *testing.T, all []Tour, s seed) {
	if s.Text == "" {
		return
	}
	tour := Find(all, s.Text)
	if tour == nil {
		t.Errorf("%s: there is no walk %s", s.Name, s.Text)
		return
	}
	word := s.Name
	if s.Word != "" {
		word = s.Word
	}
	other := word
	if s.Zh != "" {
		other = s.Zh
	}
	en, zh := tour.words()
	if !strings.Contains(en, strings.ToLower(word)) || !strings.Contains(zh, strings.ToLower(other)) {
		t.Errorf("%s: walk %s does not say %q and %q", s.Name, s.Text, word, other)
	}
}

// checkAsked checks that the stop has a question with its answer.
func checkAsked(t *testing.T, all []Tour, s seed) {
	if s.Asked == "" {
		return
	}
	name, step, _ := strings.Cut(s.Asked, "/")
	if tour := Find(all, name); tour != nil {
		for i := range tour.Stops {
			if tour.Stops[i].Step == step && tour.Stops[i].Question != nil {
				return
			}
		}
	}
	t.Errorf("%s: nobody asks at %s", s.Name, s.Asked)
}

// words returns all that a walk says, in lower case.
func (t *Tour) words() (en, zh string) {
	all := []probes.Text{t.Text, t.Ending}
	for i := range t.Stops {
		s := &t.Stops[i]
		all = append(all, s.Title, s.Text)
		if s.Question != nil {
			all = append(all, s.Question.Text, s.Question.Answer)
		}
	}
	for _, text := range all {
		en += text.En + "\n"
		zh += text.Zh + "\n"
	}
	return strings.ToLower(en), strings.ToLower(zh)
}
