package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// endUnseen is a report on a pod whose container has ended while the kubelet stood still.
func endUnseen(t *testing.T) *causes.Report {
	t.Helper()
	text, err := os.ReadFile("../../agent/explain/causes/testdata/recorded/ready.endUnseen/node-near.json")
	if err != nil {
		t.Fatal(err)
	}
	var s evidence.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return causes.Explain(&s)
}

func TestDifferingPrinted(t *testing.T) {
	r := endUnseen(t)
	for l, want := range map[words.Lang][]string{
		words.English: {"\nWhat differs:\n  app state  (differs for ", "\n    kubectl shows    running, ", "\n    the runtime runs ended with 9, "},
		words.Chinese: {"\n不一致的地方：\n  app 状态  (不一致已 ", "\n    kubectl 显示     运行中, ", "\n    运行时在跑       以 9 结束, "},
	} {
		var b bytes.Buffer
		writeDiffering(&b, r.Columns, l)
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%q is not in:\n%s", w, b.String())
			}
		}
	}
}

// TestColumnsPrinted: the table has a line for each row, and marks the one that differs, and the places that were not seen.
func TestColumnsPrinted(t *testing.T) {
	r := endUnseen(t)
	var b bytes.Buffer
	writeColumns(&b, r.Columns, words.English)
	lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
	if len(lines) < len(r.Columns.Rows)+1 {
		t.Fatalf("%d lines for %d rows:\n%s", len(lines), len(r.Columns.Rows), b.String())
	}
	at := strings.Index(lines[0], "the kubelet has")
	for i, row := range r.Columns.Rows {
		line := lines[i+1]
		if !strings.HasPrefix(line, row.Name(words.English)+" ") || strings.Contains(line, "differs") != row.Differs {
			t.Errorf("%q is the line of %s", line, row.Name(words.English))
		}
		if line[at] != '?' {
			t.Errorf("the kubelet stood still, and is in %q", line)
		}
	}
}

func TestColumnsJSON(t *testing.T) {
	o := &oneAnswer{Report: endUnseen(t), columns: true}
	text, err := json.Marshal(o.data(words.Chinese))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Differences, Columns []struct {
			Container, What string
			Places          map[string]struct{ Text string }
			Differs         bool
			Since           time.Time
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Differences) != 1 || len(got.Columns) != len(o.Columns.Rows) {
		t.Fatalf("%+v", got)
	}
	d := got.Differences[0]
	if d.Container != "app" || d.What != "state" || !d.Differs || d.Since.IsZero() || len(d.Places) != 2 || d.Places["runtime"].Text == "" {
		t.Errorf("%+v", d)
	}
}

// TestColumnsOfMany: the four columns are of one pod.
func TestColumnsOfMany(t *testing.T) {
	for _, arg := range []string{"-A", "deployment/web", "node/n"} {
		var errs bytes.Buffer
		code := run(t.Context(), []string{"podstep", "why", arg, "--columns"}, io.Discard, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "--columns is for one pod") {
			t.Errorf("%s: %d, %s", arg, code, errs.String())
		}
	}
	if (&oneAnswer{Report: causes.Explain(&evidence.Snapshot{})}).key() == "" {
		t.Error("an answer without columns has no key")
	}
}

func TestRestartPrinted(t *testing.T) {
	at := time.Date(2026, 11, 25, 15, 0, 0, 0, time.UTC)
	r := &columns.Restart{Started: at, Taken: at.Add(time.Minute), Changes: []columns.Change{
		{Container: "app", What: words.Text("state", "状态"), Text: words.Text("running", "运行中"), At: at.Add(30 * time.Second)},
		{What: words.Same("Ready"), Text: words.Same("True"), At: at.Add(50 * time.Second)},
	}}
	var b bytes.Buffer
	writeRestart(&b, r, words.English)
	if want := "\nChanged since the kubelet was started 1m ago:\n  app state  running, 30 s\n  Ready      True, 10 s\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	writeRestart(&b, nil, words.English)
	if j := newRestartJSON(r, words.Chinese); !j.Started.Equal(at) || j.Changes[0].Container != "app" || j.Changes[0].What != "state" || j.Changes[0].Text != "运行中" {
		t.Errorf("%+v", j)
	}
}
