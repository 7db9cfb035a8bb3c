package view

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestEither: if no probe read which of several lines made the call, no line is marked, and each has a question
// mark.
func TestEither(t *testing.T) {
	s := base()
	s.Detail = &screen.Detail{
		Step: "worker.update", Title: "UpdatePod", Place: "pkg/kubelet/kubelet.go:2852", First: 2851, Mark: -1,
		Source: []string{"\tif mirror {", "\t\tkl.podWorkers.UpdatePod(a)", "\t}", "\tkl.podWorkers.UpdatePod(b)"},
		Either: []int{2852, 2854},
	}
	s.Focus, s.Zoom = screen.PaneDetail, true
	for lang, label := range map[words.Lang]string{words.English: "one of these calls", words.Chinese: "其中一处调用"} {
		s.Lang = lang
		text := ansi.Strip(checkSize(t, "either", s, Options{Width: 100, Height: 40}))
		for _, want := range []string{"kubelet.go:2852, 2854", label, "? 2852", "? 2854", "  2851"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}
