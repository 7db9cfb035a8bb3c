package view

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
)

// TestTourFits: the card has as many lines as there is room for, and ends with what it waits for. A card that is cut
// names the key that shows all of it.
func TestTourFits(t *testing.T) {
	for _, answer := range []string{"", "The pause container: it does nothing but wait, and has the network namespace of the pod for as long as the pod lives."} {
		s := tourOf()
		s.Tour.Answer = answer
		for _, s.Lang = range []words.Lang{words.English, words.Chinese} {
			for w := 20; w < 80; w += 3 {
				for h := 4; h < 30; h++ {
					f := &frame{s: s, m: &glyphSets[Unicode]}
					lines, n := f.tourFit(w, h)
					if len(lines) > h {
						t.Fatalf("%dx%d: %d lines", w, h, len(lines))
					}
					var text, end []string
					for i, l := range lines {
						if text = append(text, richText(l)); i >= len(lines)-n {
							end = append(end, strings.TrimSpace(richText(l)))
						}
					}
					waits, all := strings.Join(end, " "), strings.Join(text, "\n")
					if !strings.HasPrefix(strings.TrimSpace(waits), f.m.pointer) {
						t.Fatalf("%dx%d: the last %d lines are not what it waits for:\n%s", w, h, n, all)
					}
					cut := !strings.Contains(bare(all), bare(s.Tour.Text)) || !strings.Contains(bare(all), bare(s.Tour.Question)) || !strings.Contains(bare(all), bare(answer))
					if named := strings.Contains(bare(waits), bare(s.Tour.Whole)); cut != named && h > 6 {
						t.Fatalf("%dx%d: cut: %t, key named: %t\n%s", w, h, cut, named, all)
					}
				}
			}
		}
	}
}

// bare returns a text without blanks, because it may be broken anywhere.
func bare(s string) string { return strings.Join(strings.Fields(s), "") }

func richText(l rich) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// TestBannerIsPlain: the screen says once that the node stands still, at every width with room for it.
func TestBannerIsPlain(t *testing.T) {
	for w := 60; w <= 200; w++ {
		s := held()
		s.Hold.Node, s.Hold.Timer = true, "syncloop-health"
		text := ansi.Strip(Draw(s, NewStyles(Options{Width: w, Height: 24})))
		banner := ""
		for _, l := range strings.Split(text, "\n") {
			if strings.Contains(l, wordHELD.En) {
				banner = l
			}
		}
		if n := strings.Count(banner, "the node"); n > 1 || w > 120 && !strings.Contains(banner, wordNodeHeld.En) {
			t.Fatalf("%d: %q", w, banner)
		}
	}
}
