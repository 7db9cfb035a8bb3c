package dap

import (
	"strings"
	"unicode/utf16"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// verbs are what a person may begin a line of the console with.
var verbs = []string{"why", "print", "break", "clear"}

// completions answers with what may stand where a person types at the console.
func (s *session) completions(r *dap.CompletionsRequest) {
	text := utf16.Encode([]rune(r.Arguments.Text))
	text = text[:min(max(0, r.Arguments.Column-1), len(text))]
	typed := string(utf16.Decode(text))
	at := strings.LastIndexByte(typed, ' ') + 1
	word := typed[at:]
	targets := []dap.CompletionItem{}
	for _, name := range s.candidates(strings.Fields(typed[:at]), r.Arguments.FrameId) {
		if strings.HasPrefix(name, word) {
			length := len(utf16.Encode([]rune(word)))
			targets = append(targets, dap.CompletionItem{Label: name, Start: len(text) - length, Length: length})
		}
	}
	s.out.put(&dap.CompletionsResponse{Response: done(r), Body: dap.CompletionsResponseBody{Targets: targets}})
}

// candidates returns the words that may follow those before.
func (s *session) candidates(before []string, frame int) (names []string) {
	switch {
	case len(before) == 1 && before[0] == "break":
		for _, step := range probes.MustLoad().Steps {
			names = append(names, step.Name)
		}
	case len(before) == 1 && before[0] == "clear":
		for _, group := range []string{groupConsole, groupConfigured} {
			for _, p := range s.target.points().groups[group] {
				names = append(names, p.patterns...)
			}
		}
	case len(before) == 0:
		names = append(names, verbs...)
		f, err := s.refs.frame(frame)
		if err != nil || f.span == history.None {
			break
		}
		c := s.target.story().h.Call(f.span, f.stop.at)
		for _, fields := range []map[string]any{c.Args, c.Results} {
			for _, n := range nodesOf(fields, func(any) bool { return true }) {
				names = append(names, n.name)
			}
		}
	}
	return names
}
