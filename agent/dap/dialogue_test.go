package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

// labTrace is a recording of a lab in which some pods go wrong.
const labTrace = "../../tui/state/testdata/lab.podstep"

// openTrace opens a trace file, as the command does.
func openTrace(_ context.Context, names ...string) (trace.Recording, error) {
	text, err := os.ReadFile(names[0])
	if err != nil {
		return nil, err
	}
	r, err := trace.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return recording{Reader: r}, nil
}

// TestRecordedDialogues gives a session the requests of editors, and compares what it writes. Those of neovim were
// recorded from nvim-dap 0.6.0; those of the others have the requests, and the members, that these editors send.
func TestRecordedDialogues(t *testing.T) {
	all, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(all) == 0 {
		t.Fatal("no dialogues", err)
	}
	for _, name := range all {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			requests, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			e := newEditor(t, Options{Open: openTrace})
			for _, line := range bytes.Split(bytes.TrimSpace(requests), []byte("\n")) {
				line = bytes.ReplaceAll(line, []byte("TRACE"), []byte(labTrace))
				var head message
				if err := json.Unmarshal(line, &head); err != nil {
					t.Fatal(err)
				}
				if err := dap.WriteBaseMessage(e.conn, line); err != nil {
					t.Fatal(err)
				}
				e.until("answer to "+head.Command, func() bool { return e.answers[head.Seq] != nil })
				if head.Command == "launch" {
					e.event("initialized", nil)
				}
			}
			compareGolden(t, strings.TrimSuffix(name, ".jsonl")+".golden", e.lines())
		})
	}
}

// lines returns what the session wrote, one message a line; texts of files are cut.
func (e *editor) lines() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(e.bytes.Bytes()))
	for d.More() {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			e.t.Fatal(err)
		}
		line := strings.ReplaceAll(string(text), labTrace, "TRACE")
		const most = 1000
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "…"
		}
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	wants, gots := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(wants), len(gots)) {
		w, g := "", ""
		if i < len(wants) {
			w = wants[i]
		}
		if i < len(gots) {
			g = gots[i]
		}
		if w != g {
			t.Fatalf("%s, line %d:\n%s\nwant\n%s\ngo test ./agent/dap -update writes it anew", name, i+1, g, w)
		}
	}
}

// TestOtherGoroutine: for a pod that is stopped on another goroutine than its worker, the frames also have where the
// worker is meanwhile.
func TestOtherGoroutine(t *testing.T) {
	e := newEditor(t, Options{Open: openTrace})
	e.do("initialize", nil)
	e.do("launch", map[string]any{"trace": labTrace, "pod": "no-image", "breakpoints": []any{"cri.PullImage"}})
	e.event("initialized", nil)
	e.do("configurationDone", nil)
	place := e.stopped().ThreadId
	e.do("continue", map[string]any{"threadId": place})
	e.stopped()
	names, _ := e.frames(place)
	if want := "cri.PullImage\nimage.dopull\nmeanwhile, the pod's worker\nimage.pull\nimage.ensure\nrt.startcontainer\n"; !strings.HasPrefix(names, want) {
		t.Errorf("the frames are\n%s\nwant\n%s…", names, want)
	}
}
