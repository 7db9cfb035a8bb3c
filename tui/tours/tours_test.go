package tours

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	data "github.com/podstep/podstep/docs/tours"
	"github.com/podstep/podstep/probes"
)

func loaded(t *testing.T) []Tour {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTours(t *testing.T) {
	all := loaded(t)
	if err := Check(all, probes.MustLoad()); err != nil {
		t.Error(err)
	}
	entries, err := fs.ReadDir(data.Files, "walk")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if Find(all, name) == nil {
			t.Errorf("tour %s is not in order.yaml", name)
		}
	}
}

const good = `
title: {en: t, zh: t}
text: {en: t, zh: t}
ending: {en: t, zh: t}
needs: {runtime: any}
pod: default/a
manifest: {MANIFEST}
stops:
- {act: {do: create}, title: {en: t, zh: t}, text: {en: t, zh: t}}
- {step: sync.pod, hold: pod, title: {en: t, zh: t}, text: {en: t, zh: t}}
- {step: sync.pod, title: {en: t, zh: t}, text: {en: t, zh: t}}
- {step: sync.pod, title: {en: t, zh: t}, text: {en: t, zh: t}}
- {step: sync.pod, title: {en: t, zh: t}, text: {en: t, zh: t}}
- {step: merge.merge, on: exit, hold: node, where: {op: ADD}, title: {en: t, zh: t}, text: {en: t, zh: t}}
`

const manifest = `"{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {podstep.dev/walk: a}}}"`

func parse(text string) ([]Tour, error) {
	return load(fstest.MapFS{
		"order.yaml":  {Data: []byte("[a]")},
		"walk/a.yaml": {Data: []byte(strings.Replace(text, "{MANIFEST}", manifest, 1))},
	})
}

// TestCheckFinds: Check finds and names each kind of fault.
func TestCheckFinds(t *testing.T) {
	all, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(all, probes.MustLoad()); err != nil {
		t.Fatalf("a good tour: %v", err)
	}
	for _, c := range []struct{ was, is, want string }{
		{"title: {en: t, zh: t}\ntext", "title: {en: t}\ntext", "missing in a language"},
		{"ending: {en: t, zh: t}", "ending: {zh: t}", "missing in a language"},
		{"runtime: any", "runtime: docker", "needs a runtime"},
		{"runtime: any", "runtime: any, devices: true", "needs devices"},
		{"step: sync.pod, hold", "step: sync.nothing, hold", "stop 2 (sync.nothing): is not a step"},
		{"hold: pod", "hold: node", "may not be held"},
		{"hold: pod", "on: sideways", "neither enter nor exit"},
		{"op: ADD", "up: ADD", "no field up"},
		{"op: ADD", "op: '['", "not a glob"},
		{"hold: pod", "shows: [nothing]", "shows nothing"},
		{"hold: pod", "look: [nothing]", "no nothing to look at"},
		{"do: create", "do: dance", "nobody knows how"},
		{"do: create", "do: delete", "kind/namespace/name"},
		{"do: create", "do: write-static, object: ../a", "name of a YAML file"},
		{"do: create", "do: create, manifest: 'kind: Pod'", "lacks apiVersion"},
		{"do: create", "do: create, manifest: '{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}}'", "lacks the label"},
		{"do: create", "do: create, manifest: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: default}}'", "makes only Pod, ConfigMap"},
		{"do: create", "do: patch, object: pod/default/a, manifest: '[{op: replace, path: /spec/x, value: y}]'", "begin with a test"},
		{"step: merge.merge, on: exit, hold: node, where: {op: ADD}", "act: {do: create}", "ends with an action"},
		{"act: {do: create}", "step: sync.pod", "begins with an action"},
	} {
		all, err := parse(strings.Replace(good, c.was, c.is, 1))
		if err != nil {
			t.Errorf("%s: %v", c.is, err)
			continue
		}
		if err := Check(all, probes.MustLoad()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.is, err, c.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"needs:", "colour: red\nneeds:", "line 5: field colour not found"},
		{"pod: default/a", "pod: [a]", "cannot unmarshal"},
	} {
		if _, err := parse(strings.Replace(good, c.was, c.is, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.is, err, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	s := Stop{Step: "rt.start", On: probes.Enter, Pod: "default/web-*", Where: map[string]string{"image": "docker.io/*:1"}}
	e := probes.Event{Step: "rt.start", Kind: probes.Enter, Pod: &probes.Pod{Namespace: "default", Name: "web-1"}, Fields: map[string]any{"image": "docker.io/library/a:1"}}
	if !s.Matches(&e) {
		t.Error("the event is the stop's")
	}
	for what, other := range map[string]func(e *probes.Event){
		"step":  func(e *probes.Event) { e.Step = "rt.sync" },
		"side":  func(e *probes.Event) { e.Kind = probes.Exit },
		"pod":   func(e *probes.Event) { e.Pod = &probes.Pod{Namespace: "default", Name: "db"} },
		"node":  func(e *probes.Event) { e.Pod = nil },
		"field": func(e *probes.Event) { e.Fields = map[string]any{"image": "docker.io/library/a:2"} },
		"none":  func(e *probes.Event) { e.Fields = nil },
	} {
		not := e
		other(&not)
		if s.Matches(&not) {
			t.Errorf("an event of another %s is taken for the stop's", what)
		}
	}
	s.Failed = true
	if s.Matches(&e) {
		t.Error("an event without an error is taken for a failure")
	}
}

func TestNextHold(t *testing.T) {
	stops := []Stop{{Act: &Action{}}, {}, {Hold: HoldPod}, {Act: &Action{}}, {Hold: HoldPod}}
	var got []int
	for i := range stops {
		got = append(got, NextHold(stops, i))
	}
	if want := []int{2, 2, -1, 4, -1}; !slices.Equal(got, want) {
		t.Errorf("NextHold = %v, want %v", got, want)
	}
}
