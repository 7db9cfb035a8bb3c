package trace

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestOldVersions reads the files that each version of the format has left in testdata, and that every later podstep
// must read. One was recorded from a real kubelet; one was made here, with all that may come. They are never written
// anew, only the lines beside them that say what is in them.
func TestOldVersions(t *testing.T) {
	if made := fmt.Sprintf("testdata/v%d-made.podstep", Version); *update {
		makeOnce(t, made)
	}
	files, err := filepath.Glob("testdata/v*.podstep")
	if err != nil || len(files) < 2*Version {
		t.Fatalf("%d files, %v: there are none of the newest version", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := lines(t, file)
			golden := strings.TrimSuffix(file, ".podstep") + ".jsonl"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is read otherwise than before:\n%s", file, firstDifference(got, want))
			}
		})
	}
}

// makeOnce makes the file of this version, unless it exists.
func makeOnce(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	s := newSample()
	strange := s.batch(10)
	strange.Pods = append(strange.Pods, &agentpb.Pod{Id: 99, Namespace: "evil", Name: "esc\x1b[2J\u202e", Uid: "容器"})
	strange.Events = append(strange.Events, odd...)
	raw := written(t, s.batch(40), &agentpb.Batch{CaughtUp: true}, strange, s.batch(60))
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines returns the header of a trace file and its events, each as a line of JSON.
func lines(t testing.TB, file string) []byte {
	t.Helper()
	r, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	print := json.NewEncoder(&out)
	h := r.Header()
	d := wire.NewDecoder(h.Info)
	err = print.Encode(map[string]any{
		"podstep": h.Podstep, "began": h.Began, "selection": h.Selection,
		"kubelet": h.Info.KubeletVersion, "node": h.Info.Node, "steps": len(h.Info.Steps),
	})
	for err == nil {
		b, next := r.Next()
		if next == io.EOF {
			return out.Bytes()
		}
		if next != nil {
			t.Fatal(next)
		}
		if b.CaughtUp {
			err = print.Encode("caught up")
		}
		for _, e := range d.Batch(b) {
			e.Time = e.Time.UTC()
			if err == nil {
				err = print.Encode(e)
			}
		}
	}
	t.Fatal(err)
	return nil
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer"
}
