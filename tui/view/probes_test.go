package view

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestProbes: the header names the probes that see nothing, and why. The detail says how each probe saw a call.
func TestProbes(t *testing.T) {
	began := time.Date(2026, 11, 22, 12, 0, 0, 5e6, time.UTC)
	s := base()
	s.Header.Probes = []string{"cri", "api"}
	s.Header.Failing = []screen.Failing{{Probe: "made", Why: "torn by a test"}, {Probe: "log", Again: true}}
	s.Detail = &screen.Detail{
		Step: "cri.RunPodSandbox", Title: "RunPodSandbox", Mark: -1, Missing: "runtimeHandler; not by made",
		Sights: []screen.Sight{
			{Probe: "made", Began: began, Took: 3 * time.Second},
			{Probe: "cri", Began: began, Took: 2 * time.Second, Error: "no network", Values: []screen.Value{{Name: "podSandboxID", Text: "abc"}}},
		},
	}
	s.Focus, s.Zoom = screen.PaneDetail, true
	for lang, wanted := range map[words.Lang][]string{
		words.English: {"  cri api  ", "✗ made failed: torn by a test", "↻ log tries again", "seen by", "made  12:00:00.005  3.00 s", "cri  12:00:00.005  2.00 s", "✗ no network", "podSandboxID  abc", "not read  runtimeHandler; not by made"},
		words.Chinese: {"✗ made 失败：torn by a test", "↻ log 重试中", "看到它的探针", "未读取  runtimeHandler"},
	} {
		s.Lang = lang
		text := ansi.Strip(checkSize(t, "probes", s, Options{Width: 180, Height: 50}))
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}
