package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// topOf returns a topper that has counted the fake agent's story of web.
func topOf(t *testing.T) *topper {
	t.Helper()
	f := newFakeAgent()
	top := &topper{catalogue: probes.MustLoad(), pods: &agentpb.PodSelector{}, filter: &filter.Filter{}}
	top.begin(f.About)
	top.add(&agentpb.Batch{Pods: []*agentpb.Pod{web}, Events: f.story(web)})
	return top
}

// TestTopRedraws: a table that is drawn again takes the place of the last one, and fits the terminal.
func TestTopRedraws(t *testing.T) {
	top := topOf(t)
	var out bytes.Buffer
	p := &topPrinter{app: &app{out: &out}, flags: &topFlags{sort: choice{value: "p99"}}}
	printTo := func(w io.Writer) error { return p.printTo(w, top) }
	if err := p.redraw(printTo, 30, 40); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 5 || p.lines != 5 || strings.Contains(out.String(), "A\r") {
		t.Errorf("%d lines: %q", lines, &out)
	}
	out.Reset()
	if err := p.redraw(printTo, 30, 4); err != nil {
		t.Fatal(err)
	}
	text, is := strings.CutPrefix(out.String(), "\x1b[5A\r")
	lines := strings.Split(strings.TrimSuffix(text, "\x1b[J"), "\x1b[K\n")
	if !is || len(lines) != 4 || lines[2] != "and 3 more lines; a higher ter" {
		t.Errorf("%q", &out)
	}
	for _, l := range lines {
		if len(l) > 30 {
			t.Errorf("%q is too long", l)
		}
	}
}

// TestTopWithoutHistory: the time that was seen begins when podstep began to look.
func TestTopWithoutHistory(t *testing.T) {
	top := topOf(t)
	before := top.seen()
	top.from = time.Unix(0, top.h.Origin()+top.h.Last()).Add(-time.Minute)
	if got := top.seen(); before >= time.Second || got != time.Minute {
		t.Errorf("seen for %v, then %v", before, got)
	}
	if rows := top.rows(spread.ByCalls); len(rows) != 3 || rows[0].PerMinute != 1 {
		t.Errorf("%+v", rows)
	}
}

func TestChange(t *testing.T) {
	for times, want := range map[float64]string{1: "same", 1.02: "same", 1.5: "+50 %", 0.25: "-75 %", 2: "x 2.0", 12.4: "x 12"} {
		if got := change(times); got != want {
			t.Errorf("%v times as long is %s, want %s", times, got, want)
		}
	}
}

// TestDifferencesText: steps that are not compared are counted, and only some are named.
func TestDifferencesText(t *testing.T) {
	d := &spread.Differences{New: []string{"a"}}
	for i := range 14 {
		d.Few = append(d.Few, fmt.Sprint("s", i))
	}
	a, b := spread.Kept{Step: "sync.pod", Calls: 200, P50: 4e6, P99: 8e6}, spread.Kept{Step: "sync.pod", Calls: 30, P50: 2e6, P99: 8e6}
	d.Rows = []spread.Difference{{Before: b, After: a, P50: 2}}
	var out bytes.Buffer
	differencesText(&out, topOf(t), &spread.Baseline{Node: "node-1", Kubelet: "v1.35.0", SeenNs: 60e9}, d)
	for _, want := range []string{
		"now: all pods of node-1, kubelet v1.36.3, in 0 s\n", "was: all pods of node-1, kubelet v1.35.0, in 1m until ",
		"sync.pod  200    30   4.0 ms  2.0 ms  x 2.0   -    -    -\n",
		"14 steps have too few calls to be compared, fewer than 20: s0, s1,", "and 4 more; -o json has", "1 step is new, and has no calls in the file: a\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestSlowness: --slower-than p99 becomes the duration that a baseline has for the step, if that counts enough calls.
func TestSlowness(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before.json")
	b := &spread.Baseline{Of: "all pods", Steps: []spread.Kept{
		{Step: "sync.pod", Calls: 99, P50: 1e6, P90: 4e6, P99: 8e6, Max: 8e6, Sum: 2e8}, {Step: "sync.dirs", Calls: 100, P50: 1e6, P90: 4e6, P99: 8e6, Max: 8e6, Sum: 2e8},
	}}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		flag, step, want string
		d                time.Duration
	}{
		{"p99", "sync.dirs", "podstep: 99 in 100 of 100 calls of sync.dirs took 8.0 ms at most", 8e6},
		{"p90", "sync.pod", "podstep: 90 in 100 of 99 calls of sync.pod took 4.0 ms at most", 4e6},
		{"p99", "sync.pod", "takes 100 calls of sync.pod, and there are 99", 8e6},
		{"p50", "sync.volumes", "takes 20 calls of sync.volumes, and there are 0", 0},
	} {
		s := &slowness{against: file}
		if err := s.Set(x.flag); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := &app{out: &out, err: &out}
		if err := s.resolve(t.Context(), a, probes.MustLoad(), x.step); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), x.want) || s.d != x.d {
			t.Errorf("%s of %s is %v: %s", x.flag, x.step, s.d, &out)
		}
	}
}
