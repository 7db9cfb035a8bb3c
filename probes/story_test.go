package probes

import (
	"strings"
	"testing"
)

// TestRoles: each role is described once and is the meaning of some step.
func TestRoles(t *testing.T) {
	c := MustLoad()
	seen := map[Role]bool{}
	for _, info := range Roles {
		if seen[info.Role] || info.Text == "" || strings.HasSuffix(info.Text, ".") {
			t.Errorf("role %q is described twice, not at all, or by a whole sentence: %q", info.Role, info.Text)
		}
		seen[info.Role] = true
		if len(c.OfRole(info.Role)) == 0 {
			t.Errorf("no step has the role %q", info.Role)
		}
	}
	changes := map[Change]int{}
	for i := range c.Steps {
		changes[c.Steps[i].Story.Changes]++
	}
	if changes[ChangeAlways] == 0 || changes[ChangeUntimed] == 0 || len(changes) != 3 {
		t.Errorf("steps by what they change: %v", changes)
	}
}

// TestStoryIsChecked: a step cannot mean what its fields do not show.
func TestStoryIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		step   string
		change func(*Step)
		want   string
	}{
		"nothing":                  {"worker.turn", func(*Step) {}, ""},
		"no role":                  {"worker.turn", func(s *Step) { s.Story.Role = "" }, ""},
		"an unknown role":          {"worker.turn", func(s *Step) { s.Story.Role = "dance" }, `there is no role "dance"`},
		"a field is missing":       {"worker.turn", func(s *Step) { s.Fields = s.Fields[1:] }, "needs the field workType"},
		"a result is missing":      {"sync.genstatus", func(s *Step) { s.Results = nil }, "needs the result phase"},
		"a report of a function":   {"worker.turn", func(s *Step) { s.Story.Role = RoleGone }, "is for reports"},
		"a function's report":      {"cluster.gone", func(s *Step) { s.Story.Role = RoleWork }, "is for reports"},
		"a report without a role":  {"cluster.gone", func(s *Step) { s.Story.Role = "" }, "needs a role"},
		"a report changes the pod": {"cluster.gone", func(s *Step) { s.Story.Changes = ChangeAlways }, "changes nothing"},
		"changes sometimes":        {"cri.StartContainer", func(s *Step) { s.Story.Changes = "sometimes" }, "none of always, untimed"},
		"has no timeout":           {"cri.StartContainer", func(s *Step) { s.Story.Changes = ChangeUntimed }, "needs the field timeout"},
		"merges one pod":           {"sync.pod", func(s *Step) { s.Story.Role = RoleMerge }, "needs pods of kind updates"},
	} {
		s := *MustLoad().Step(test.step)
		test.change(&s)
		got := strings.Join(s.storyProblems(), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
