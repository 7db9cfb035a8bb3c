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

// recorded has the names of a recording's pods, by their place.
type recorded struct {
	t    *testing.T
	pods []string
}

func (r recorded) Compare(a, b screen.PodKey, part compare.Part) *compare.Result {
	return compare.Compare(story(r.t, r.pods[a], part), story(r.t, r.pods[b], part))
}

// page compares two pods of the recording.
func page(t *testing.T, l words.Lang, a, b string) *Page {
	return NewPage(l, recorded{t, []string{a, b}}, 0, 1)
}

func story(t *testing.T, name string, part compare.Part) *compare.Story {
	r, err := trace.Open("../state/testdata/lab.podstep")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := compare.Read(r.Header().Info, r, &agentpb.PodSelector{Name: name}, part, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPage: no line is wider than the room, at any width, in both languages. The page has the result of the
// comparison.
func TestPage(t *testing.T) {
	for _, l := range []words.Lang{words.English, words.Chinese} {
		for _, width := range []int{40, 60, 80, 120, 200} {
			st := view.NewStyles(view.Options{Width: width, Height: 400})
			p := page(t, l, "web", "no-image")
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

// TestGolden compares the page in a terminal of 80 columns, and in a small one.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, width := range []int{80, 40} {
		p := page(t, words.English, "web", "no-image")
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

// TestPart: Tab switches the part, and the footer names the next part. While a text is typed, Tab does not switch. A
// part that a pod has not come to has no table.
func TestPart(t *testing.T) {
	tab := tea.KeyPressMsg{Code: tea.KeyTab}
	st := view.NewStyles(view.Options{Width: 100, Height: 400})
	p := page(t, words.English, "web", "held")
	for _, c := range []struct{ title, next, text string }{
		{"web and held compared: creation", "termination", "web came in"},
		{"web and held compared: termination", "the whole story", "30 s of it in cri.StopContainer of container"},
		{"web and held compared: the whole story", "creation", "web was there for"},
		{"web and held compared: creation", "termination", "web came in"},
	} {
		o := p.Overlay(st)
		if len(o.Hints) != 1 || o.Hints[0].Key != "Tab" || o.Hints[0].Text != c.next || o.Title != c.title || !strings.Contains(strings.Join(o.Text, " "), c.text) {
			t.Errorf("%q, %+v; want %+v:\n%s", o.Title, o.Hints, c, strings.Join(o.Text, "\n"))
		}
		p.Key(tab)
	}
	p.Key(tea.KeyPressMsg{Code: '/', Text: "/"})
	before := p.Overlay(st).Title
	if p.Key(tab); p.Overlay(st).Title != before {
		t.Error("Tab switches the part while a text is typed")
	}
	none := page(t, words.English, "web", "no-image")
	none.Key(tab)
	if o := none.Overlay(st); len(o.Text) != 1 || o.Text[0] != "no-image has not begun to end." {
		t.Errorf("a pod that is there: %q", o.Text)
	}
}

// TestOthers: a pod is not compared with itself, and the callback gets the chosen pod.
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
