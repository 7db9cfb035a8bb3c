package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// recorded makes a trace file with the story of the fake agent's web.
func recorded(t *testing.T) (path string, raw []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "web.podstep")
	f := newFakeAgent()
	w, err := trace.Create(path, &trace.Header{Podstep: "v0.0.9", Began: time.Unix(1e9, 0), Selection: "web", Info: f.About})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(&agentpb.Batch{Pods: []*agentpb.Pod{web, evil}, Events: append(f.story(web), f.story(evil)...)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, raw
}

// TestReplayDamaged: events that can be read are printed, and the damage is reported.
func TestReplayDamaged(t *testing.T) {
	path, raw := recorded(t)
	_, events, _ := bytes.Cut(raw, []byte("\n"))
	spoilt := bytes.Clone(raw)
	spoilt[len(raw)-60] ^= 1
	for _, c := range []struct {
		name  string
		file  []byte
		code  int
		lines int
		want  string
	}{
		{"whole", raw, exitDone, 16, "kubelet v1.36.3, recorded"},
		{"without its end mark", raw[:len(raw)-27], exitDone, 16, "the trace is not finished: after 16 events, there is no end mark"},
		{"cut in its end mark", raw[:len(raw)-1], exitFailed, 16, "after 16 events: it is cut short; all before that was printed"},
		{"spoilt", spoilt, exitFailed, 0, "after 0 events: a block does not have the checksum"},
		{"its first line only", raw[:len(raw)-len(events)], exitFailed, 0, "not finished: after 0 events"},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"podstep", "replay", path, "-o", "json"}, &stdout, &stderr)
		if c.name == "whole" {
			run(t.Context(), []string{"podstep", "replay", path}, &bytes.Buffer{}, &stderr)
		}
		if n := strings.Count(stdout.String(), "\n"); code != c.code || n != c.lines || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, %d lines, %s; want %d, %d, %s", c.name, code, n, &stderr, c.code, c.lines, c.want)
		}
		if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\u009b") {
			t.Errorf("%s: control characters come through", c.name)
		}
	}
}
