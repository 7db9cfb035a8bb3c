package causes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// recorded returns the snapshots below testdata/recorded by file and way: each as the ways see
// it that its file's name has. The folder of a file is the cause that it shows.
func recorded(t testing.TB) map[string]*evidence.Snapshot {
	t.Helper()
	out := map[string]*evidence.Snapshot{}
	files, err := filepath.Glob("testdata/recorded/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s evidence.Snapshot
		if err := yaml.UnmarshalStrict(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f, err := recording.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		last := len(f.Ways) - 1
		for _, way := range f.Ways[:last] {
			out[file+" in way "+string(way)] = way.Mask(&s)
		}
		out[file+" in way "+string(f.Ways[last])] = &s
	}
	return out
}

// TestRecorded: each recorded snapshot still shows its cause, as the first one, and its texts
// have all their arguments in both languages. Snapshots of pods with which nothing is wrong are
// in healthy.
func TestRecorded(t *testing.T) {
	for file, s := range recorded(t) {
		want := filepath.Base(filepath.Dir(file))
		r := Explain(s)
		if want == recording.Healthy {
			if r.Wrong() {
				t.Errorf("%s: %s is found", file, r.Findings[0].Cause.ID)
			}
			continue
		}
		if follows(r, want) {
			continue
		}
		if len(r.Findings) == 0 || r.Findings[0].Cause.ID != want {
			t.Errorf("%s: found are %s", file, ids(r))
			continue
		}
		for i := range r.Findings {
			whole(t, file, &r.Findings[i])
		}
	}
}

// follows reports whether the cause of this id, which only follows from others, is in a report
// that has others.
func follows(r *Report, id string) bool {
	c := Named(id)
	return c != nil && c.Follows && len(r.Findings) > 1 && slices.Contains(ids(r), id)
}

func ids(r *Report) (out []string) {
	for i := range r.Findings {
		out = append(out, r.Findings[i].Cause.ID)
	}
	return out
}

// whole checks that a finding's texts have all their arguments.
func whole(t *testing.T, file string, f *Finding) {
	t.Helper()
	c := f.Cause
	for _, text := range []string{
		c.Title.En, c.Title.Zh, c.Text.En, c.Text.Zh, c.Refute.En, c.Refute.Zh, c.Clock.En, c.Clock.Zh, c.Chain.En, c.Chain.Zh, c.Shows.En, c.Shows.Zh,
	} {
		for _, name := range probes.Arguments(text) {
			if _, ok := f.Args[name]; !ok {
				t.Errorf("%s: %s has no argument {%s} for %q", file, c.ID, name, text)
			}
		}
	}
	if len(f.Evidence) == 0 {
		t.Errorf("%s: %s has no evidence", file, c.ID)
	}
	for _, l := range []words.Lang{words.English, words.Chinese} {
		for _, text := range []string{f.Title(l), f.Sentence(l)} {
			if text == "" || strings.ContainsAny(text, "{}") && !strings.Contains(strings.Join(values(f.Args), " "), "{") {
				t.Errorf("%s: %s: %q", file, c.ID, text)
			}
		}
		if len(f.Advice(l)) == 0 {
			t.Errorf("%s: %s has no advice that can be given", file, c.ID)
		}
	}
}

func values(a Args) (out []string) {
	for _, v := range a {
		out = append(out, v)
	}
	return out
}

// TestPartial: a snapshot without some of its parts is explained, too.
func TestPartial(t *testing.T) {
	for file, s := range recorded(t) {
		for name, take := range map[string]func(*evidence.Snapshot){
			"pod":     func(s *evidence.Snapshot) { s.Pod, s.KubeletPod = nil, nil },
			"cluster": func(s *evidence.Snapshot) { s.Cluster = evidence.Cluster{} },
			"story":   func(s *evidence.Snapshot) { s.Story = nil },
			"kubelet": func(s *evidence.Snapshot) { s.Kubelet = nil },
			"machine": func(s *evidence.Snapshot) { s.Machine, s.Runtime = nil, nil },
			"all but the story": func(s *evidence.Snapshot) {
				*s = evidence.Snapshot{Taken: s.Taken, Name: s.Name, Story: s.Story}
			},
		} {
			part := *s
			take(&part)
			r := Explain(&part)
			if r.Since.IsZero() || r.Since.After(r.Taken) {
				t.Errorf("%s without %s: it is %s since %v, at %v", file, name, r.Word(), r.Since, r.Taken)
			}
			if part.Story != nil && r.Word() != part.Story.State {
				t.Errorf("%s without %s: it is %s, and its story says %s", file, name, r.Word(), part.Story.State)
			}
		}
	}
}
