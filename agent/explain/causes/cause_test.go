package causes

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var validID = regexp.MustCompile(`^[a-z][a-zA-Z]*(\.[a-z][a-zA-Z]*)*$`)

// TestTable: every cause has all its texts in both languages, known phases, and only known
// causes in After.
func TestTable(t *testing.T) {
	for _, c := range All() {
		if !validID.MatchString(c.ID) {
			t.Errorf("%s is no id", c.ID)
		}
		for name, text := range map[string][2]string{
			"title": {c.Title.En, c.Title.Zh}, "text": {c.Text.En, c.Text.Zh}, "refute": {c.Refute.En, c.Refute.Zh},
		} {
			if text[0] == "" || text[1] == "" {
				t.Errorf("%s has no %s in some language", c.ID, name)
			}
		}
		for name, text := range map[string][2]string{
			"clock": {c.Clock.En, c.Clock.Zh}, "chain": {c.Chain.En, c.Chain.Zh}, "shows": {c.Shows.En, c.Shows.Zh},
		} {
			if (text[0] == "") != (text[1] == "") {
				t.Errorf("%s has a %s in one language only", c.ID, name)
			}
		}
		if c.Where == "" || len(c.Next) == 0 {
			t.Errorf("%s does not say where it is, or what to do next", c.ID)
		}
		if c.Silent && c.Shows.En == "" {
			t.Errorf("%s is silent, and does not say what kubectl shows", c.ID)
		}
		for _, a := range c.Next {
			if a.Text.En == "" || a.Text.Zh == "" {
				t.Errorf("%s has an advice without a text in some language", c.ID)
			}
		}
		c.checkRefs(t)
	}
}

func (c *Cause) checkRefs(t *testing.T) {
	t.Helper()
	for _, a := range c.After {
		stage, whole := strings.CutSuffix(a, ".*")
		if whole && slices.Contains(stages, stage) {
			continue
		}
		if !slices.ContainsFunc(All(), func(o *Cause) bool { return c.isAfterPattern(a, o.ID) }) {
			t.Errorf("%s comes after %s, which is no cause", c.ID, a)
		}
	}
	in := c.In
	for i := range c.When {
		in = append(slices.Clone(in), c.When[i].In...)
	}
	for _, p := range in {
		if !slices.Contains(phases, p) {
			t.Errorf("%s is in %q, which is no phase", c.ID, p)
		}
	}
}

func (c *Cause) isAfterPattern(pattern, id string) bool {
	return (&Cause{ID: "", After: []string{pattern}}).isAfter(id)
}
