package tours

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
)

// Stories are the events of a simulated lab while a person took each walk, cut down to the walk's own steps. To make
// them again, run `podstep trace --node-events -o json > DIR/TOUR.jsonl` during each walk, and then `go test ./tui/tours
// -run TestStories -stories DIR`.
var storiesFrom = flag.String("stories", "", "make docs/tours/testdata/stories from the traces in this `directory`")

// TestStories: in a real run, each stop comes after the one before.
func TestStories(t *testing.T) {
	for _, tour := range loaded(t) {
		file := filepath.Join("../../docs/tours/testdata/stories", tour.Name+".jsonl")
		if *storiesFrom != "" {
			cutStory(t, &tour, filepath.Join(*storiesFrom, tour.Name+".jsonl"), file)
		}
		events := readStory(t, file)
		inOrder(t, &tour, events)
		shown(t, &tour, events)
	}
}

// inOrder finds each stop as a walker does: a watched stop after the stop before it, a hold stop after its place was
// set, and a stop of what is recorded anywhere.
func inOrder(t *testing.T, tour *Tour, events []probes.Event) {
	at, set := 0, 0
	for i := range tour.Stops {
		s := &tour.Stops[i]
		if s.Act != nil || !s.In(Sim) {
			set = at
			continue
		}
		from := at
		switch {
		case s.Hold != "":
			from = set
		case tour.Needs.Recorded:
			from = 0
		}
		n := slices.IndexFunc(events[from:], func(e probes.Event) bool { return s.Matches(&e) })
		if n < 0 {
			t.Errorf("tour %s: stop %d (%s) does not come after the stop before it", tour.Name, i+1, s.Step)
			return
		}
		at = max(at, from+n+1)
		if s.Hold != "" {
			set = from + n + 1
		}
	}
}

// shown checks that the walk shows the steps that it says it shows.
func shown(t *testing.T, tour *Tour, events []probes.Event) {
	seen := map[string]bool{}
	for i := range events {
		seen[events[i].Step] = true
	}
	for i := range tour.Stops {
		for _, step := range tour.Stops[i].Shows {
			if !seen[step] {
				t.Errorf("tour %s: stop %d does not show %s", tour.Name, i+1, step)
			}
		}
	}
}

func readStory(t *testing.T, file string) (out []probes.Event) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var raw struct {
			probes.Event
			Fields map[string]json.RawMessage `json:"fields"`
		}
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		e := raw.Event
		e.Fields = map[string]any{}
		for name, v := range raw.Fields {
			e.Fields[name] = fieldValue(t, v)
		}
		out = append(out, e)
	}
}

// fieldValue returns a field as the client does: documents stay JSON.
func fieldValue(t *testing.T, v json.RawMessage) any {
	t.Helper()
	if v[0] == '{' || v[0] == '[' {
		return probes.RawJSON(v)
	}
	var out any
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// maxRepeated bounds how many events are kept of each step that the node repeats all the time.
const maxRepeated = 8

// cutStory keeps the part of a trace that the walk is about.
func cutStory(t *testing.T, tour *Tour, from, to string) {
	t.Helper()
	steps, fields := map[string]bool{}, map[string]bool{}
	for i := range tour.Stops {
		s := &tour.Stops[i]
		for _, step := range append([]string{s.Step}, s.Shows...) {
			steps[step] = true
		}
		for name := range s.Where {
			fields[name] = true
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	repeated := map[string]int{}
	for _, e := range readStory(t, from) {
		if !steps[e.Step] || (e.Kind != probes.Enter && e.Kind != probes.Exit) || !ofTour(tour, e.Pod) {
			continue
		}
		if repeated[e.Step]++; e.Pod == nil && repeated[e.Step] > maxRepeated {
			continue
		}
		kept := map[string]any{}
		for name, v := range e.Fields {
			if fields[name] {
				kept[name] = v
			}
		}
		if e.Error != "" {
			e.Error = "failed"
		}
		cut := struct {
			Seq    uint64         `json:"seq"`
			Kind   probes.Kind    `json:"kind"`
			Step   string         `json:"step"`
			Pod    *probes.Pod    `json:"pod,omitempty"`
			Fields map[string]any `json:"fields,omitempty"`
			Error  string         `json:"error,omitempty"`
		}{e.Seq, e.Kind, e.Step, e.Pod, kept, e.Error}
		if err := enc.Encode(cut); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ofTour reports whether the walk is about the pod; nil is the node.
func ofTour(tour *Tour, p *probes.Pod) bool {
	return slices.ContainsFunc(tour.Stops, func(s Stop) bool { return s.Act == nil && s.OfPod(p) }) || p == nil
}
