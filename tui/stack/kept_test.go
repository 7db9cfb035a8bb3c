package stack

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/view"
)

// TestKept: the page of a stack that a breakpoint kept shows the error, the frames, and the values of the chosen one, and
// asks nobody.
func TestKept(t *testing.T) {
	e := probes.Event{Time: time.Unix(1, 0), Step: "sync.volumes", Error: "no such\nvolume", Pod: &probes.Pod{Namespace: "default", Name: "web"},
		Fields: map[string]any{"note": agentpb.NoteSnapshot, "breakpoint": int64(3)}}
	k := NewKept(&debugged{lang: words.English}, e, []wire.Frame{
		{Function: "k8s.io/kubernetes/pkg/kubelet.a", File: "pkg/kubelet/a.go", Line: 7, Step: "sync.volumes", Values: map[string]any{"pod": "web"}},
		{Function: "k8s.io/kubernetes/pkg/kubelet.b"},
	})
	st := view.NewStyles(view.Options{Width: 100, Height: 30, Glyphs: view.ASCII, NoColour: true})
	s := k.Overlay(st).Stack
	if all := strings.Join(s.Lines, "|"); !strings.Contains(all, "breakpoint 3") || !strings.Contains(all, "no such") {
		t.Errorf("the head is %q", all)
	}
	if len(s.Frames) != 2 || s.Frames[0].Function != "kubelet.a" || s.Frames[0].Place != "a.go:7" || s.Frames[1].Place != "" {
		t.Errorf("the frames are %v", s.Frames)
	}
	if n := len(s.Values); n != 2 || s.Values[1].Name != "pod" || s.Values[1].Text != "web" {
		t.Errorf("the values are %v", s.Values)
	}
	k.Key(tea.KeyPressMsg{Code: tea.KeyDown})
	if s := k.Overlay(st).Stack; s.Frame != 1 || len(s.Values) != 1 {
		t.Errorf("the second frame is %d with %v", s.Frame, s.Values)
	}
	if _, done := k.Key(tea.KeyPressMsg{Code: tea.KeyEscape}); !done {
		t.Error("Esc does not leave the page")
	}
}
