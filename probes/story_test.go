package probes

import (
	"strings"
	"testing"
)

// several are the roles that more than one step may have.
var several = map[Role]bool{RoleLife: true, RoleWork: true, RoleTransition: true}

// TestRoles: each role is described once, and some step has it.
func TestRoles(t *testing.T) {
	c := MustLoad()
	seen := map[Role]bool{}
	for _, info := range Roles {
		if seen[info.Role] || info.Text == "" || strings.HasSuffix(info.Text, ".") {
			t.Errorf("role %q is described twice, not at all, or by a whole sentence: %q", info.Role, info.Text)
		}
		seen[info.Role] = true
		switch n := len(c.OfRole(info.Role)); {
		case n == 0:
			t.Errorf("no step has the role %q", info.Role)
		case n > 1 && !several[info.Role]:
			t.Errorf("%d steps have the role %q, of which readers expect one", n, info.Role)
		}
	}
}

// TestStoryWords: each word for what a step means is used.
func TestStoryWords(t *testing.T) {
	changes, planned, turns, formats := map[Change]bool{}, map[Planned]bool{}, map[Turn]bool{}, map[Format]bool{}
	used := map[string]bool{}
	for i := range MustLoad().Steps {
		st := &MustLoad().Steps[i].Story
		changes[st.Changes], planned[st.Planned], formats[st.Note.As] = true, true, true
		for turn := range st.Usual {
			turns[turn] = true
		}
		for what, is := range map[string]bool{
			"waits": st.Waits.En != "", "about": len(st.About) > 0, "routine": st.Routine, "opens": st.Opens, "joins": st.Joins,
			"none": st.Note.None, "text": st.Note.Text.En != "", "yes": st.Note.Yes.En != "", "flag": st.Note.Flag != "" && len(st.Note.Show) > 0,
		} {
			used[what] = used[what] || is
		}
	}
	for _, c := range []Change{ChangeAlways, ChangeUntimed} {
		used[string(c)] = changes[c]
	}
	for _, p := range []Planned{PlannedSandbox, PlannedWithSandbox, PlannedStart} {
		used[string(p)] = planned[p]
	}
	for _, turn := range Turns {
		used["turn "+string(turn)] = turns[turn]
	}
	for _, f := range Formats {
		used["as "+string(f.Format)] = formats[f.Format] && f.Text != ""
	}
	for what, is := range used {
		if !is {
			t.Errorf("no step uses %q", what)
		}
	}
}

// TestStoryIsChecked: a step cannot have a meaning that its fields do not show.
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
		"about nothing":            {"cri.StartContainer", func(s *Step) { s.Story.About = []string{"weather"} }, "about the field"},
		"planned for later":        {"cri.StartContainer", func(s *Step) { s.Story.Planned = "later" }, "none of sandbox, withSandbox, start"},
		"usual in no turn":         {"rt.sync", func(s *Step) { s.Story.Usual = map[Turn][]string{"left": nil} }, `no turn "left"`},
		"an unknown call is usual": {"rt.sync", func(s *Step) { s.Story.Usual = map[Turn][]string{TurnSync: {"rt.x"}} }, `no step "rt.x"`},
		"waits in one language":    {"rt.sync", func(s *Step) { s.Story.Waits.En = "it waits" }, "waits is missing"},
		"a note shows nothing":     {"rt.sync", func(s *Step) { s.Story.Note = StoryNote{As: FormatBase} }, "nothing to show"},
		"a note of no field":       {"rt.sync", func(s *Step) { s.Story.Note = StoryNote{Show: []string{"op"}} }, `no field "op"`},
		"a note of an op":          {"merge.merge", func(s *Step) { s.Story.Note = StoryNote{Show: []string{"op"}} }, ""},
		"an unknown format":        {"sync.dirs", func(s *Step) { s.Story.Note.As = "song" }, `no format "song"`},
		"too few for a format":     {"sync.dirs", func(s *Step) { s.Story.Note.As = FormatPlan }, "does not take 1 fields"},
		"a note twice":             {"sync.dirs", func(s *Step) { s.Story.Note.None = true }, "exclude each other"},
		"a flag of no words":       {"rt.backoff", func(s *Step) { s.Story.Note.Show = nil }, "go with a flag"},
		"half a note":              {"loop.iter", func(s *Step) { s.Story.Note.Text.En = "x" }, "text is missing"},
		"merges one pod":           {"sync.pod", func(s *Step) { s.Story.Role = RoleMerge }, "needs pods of kind updates"},
	} {
		s := *MustLoad().Step(test.step)
		test.change(&s)
		got := strings.Join(s.storyProblems(MustLoad()), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
