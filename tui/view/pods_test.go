package view

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestDirectionOfDurations: at every width and in both languages, the list says whether a time beside a pod's state
// is left or has passed. A time that is left always has the word for that. A time that has passed never has it, and
// stands behind the word of the state.
func TestDirectionOfDurations(t *testing.T) {
	const went, stays = 41 * time.Second, 24 * time.Second
	left := map[words.Lang]*regexp.Regexp{words.English: regexp.MustCompile(`24 s left`), words.Chinese: regexp.MustCompile(`剩 24 s`)}
	for lang, word := range map[words.Lang]string{words.English: "retrying", words.Chinese: "重试中"} {
		shown := map[life.State]int{}
		for mark := life.Held; mark <= life.Gone; mark++ {
			for w := 20; w <= 60; w++ {
				s := held()
				s.Lang, s.Focus, s.Hold, s.Zoom = lang, screen.PanePods, nil, true
				row := screen.PodRow{Key: 1, Namespace: "default", Name: "web", Mark: mark, Word: word, For: went}
				if mark == life.Held {
					row.Left = stays
				}
				s.Pods.Rows, s.Pods.Cursor = []screen.PodRow{row}, 0
				f := drawn(s, NewStyles(Options{Width: 120, Height: 36}))
				f.c = newCanvas(w, 1)
				f.pod(Rect{0, 0, w, 1}, &row, false)
				line := strings.TrimSpace(ansi.Strip(f.c.text(f.st.inks)))
				if strings.Contains(line, "24 s") && !left[lang].MatchString(line) || strings.Contains(line, "41 s") && !strings.Contains(line, word+" 41 s") {
					t.Errorf("%s, state %d, %d cells: %q", lang, mark, w, line)
				}
				if strings.Contains(line, "24 s") || strings.Contains(line, "41 s") {
					shown[mark]++
				}
				if mark == life.Held && strings.Contains(line, "41 s") {
					t.Errorf("%s: of a held pod there is what went by: %q", lang, line)
				}
			}
		}
		for mark := life.Held; mark <= life.Waiting; mark++ {
			if shown[mark] < 20 {
				t.Errorf("%s, state %d: a time is shown in %d widths only", lang, mark, shown[mark])
			}
		}
	}
}

// TestBannerTime: at every width, the banner of a hold says that its time is left, or that the pod goes on after it.
func TestBannerTime(t *testing.T) {
	for _, s := range []*screen.Screen{held(), chinese()} {
		right := regexp.MustCompile(`24 s left|goes on in 24 s`)
		if s.Lang == words.Chinese {
			right = regexp.MustCompile(`剩 24 s|24 s 后自行继续`)
		}
		for w := 40; w <= 200; w++ {
			lay := Arrange(w, 36, ArrangementOf(s))
			line := strings.Split(ansi.Strip(Draw(s, NewStyles(Options{Width: w, Height: 36}))), "\n")[lay.Hold.Y]
			if !right.MatchString(line) {
				t.Errorf("%s, %d cells: %q", s.Lang, w, line)
			}
		}
	}
}
