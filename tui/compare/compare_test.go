package compare

import (
	"os"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

func story(t *testing.T, name string) *compare.Story {
	r, err := trace.Open("../state/testdata/lab.podstep")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := compare.Read(r.Header().Info, r, &agentpb.PodSelector{Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPage: no line is wider than there is room for, at any width, in both languages;
// and what the comparison comes to is there.
func TestPage(t *testing.T) {
	r := compare.Compare(story(t, "web"), story(t, "no-image"))
	for _, l := range []words.Lang{words.English, words.Chinese} {
		for _, width := range []int{40, 60, 80, 120, 200} {
			st := view.NewStyles(view.Options{Width: width, Height: 400})
			p := NewPage(l, r)
			text := strings.Join(p.Overlay(st).Text, "\n")
			for line := range strings.Lines(text) {
				if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > view.OverPageWidth(st) {
					t.Errorf("%d columns: a line of %d: %q", width, n, line)
				}
			}
			for _, want := range []string{"no-image", "2m10s", "cri.PullImage"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %d columns: %q is missing in\n%s", l, width, want, text)
				}
			}
		}
	}
}

// TestGolden is the page in a terminal of 80 columns, and in a small one.
func TestGolden(t *testing.T) {
	r := compare.Compare(story(t, "web"), story(t, "no-image"))
	var b strings.Builder
	for _, width := range []int{80, 40} {
		p := NewPage(words.English, r)
		lines := p.Overlay(view.NewStyles(view.Options{Width: width, Height: 400})).Text
		b.WriteString(strings.Join(lines[:min(len(lines), 30)], "\n") + "\n\n")
	}
	const path = "testdata/page.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s differs (%v); UPDATE=1 go test writes it:\n%s", path, err, &b)
	}
}

// TestOthers: a pod is not compared with itself, and the one that is chosen is meant.
func TestOthers(t *testing.T) {
	rows := []screen.PodRow{{Key: 1, Name: "web", Namespace: "default"}, {Key: 2, Name: "db", Namespace: "shop"}, {Key: 3, Name: "web2", Namespace: "default"}}
	var got []screen.PodKey
	p := Others(words.English, 1, rows, func(k screen.PodKey) tea.Cmd {
		got = append(got, k)
		return nil
	})
	for _, key := range []tea.KeyPressMsg{{Code: 'w', Text: "w"}, {Code: 'e', Text: "e"}, {Code: tea.KeyEnter}} {
		p.Key(key)
	}
	if !slices.Equal(got, []screen.PodKey{3}) {
		t.Errorf("%v was chosen", got)
	}
}
