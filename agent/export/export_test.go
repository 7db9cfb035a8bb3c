package export

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recordings come from a real node, a simulated lab and an attached kubelet. One was made to
// have all kinds of events.
var recordings = []string{"../trace/testdata/node.podstep", "../trace/testdata/v1.podstep", "../trace/testdata/v1-made.podstep", "../../tui/state/testdata/lab.podstep", "../../tui/state/testdata/attached.podstep"}

// read reads a recording's events.
func read(t testing.TB, path string) (*About, []probes.Event) {
	info, batches, err := tracetest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	decode := wire.NewDecoder(info)
	var events []probes.Event
	for _, b := range batches {
		events = append(events, decode.Batch(b)...)
	}
	return &About{Info: info, Catalogue: probes.MustLoad()}, events
}

// exported feeds events to an exporter.
func exported(t testing.TB, about *About, events []probes.Event, out Exporter) {
	f := NewFeed(&agentpb.PodSelector{}, about, out)
	for i := range events {
		if err := f.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// counted is what an exporter's output must have, counted from the events alone.
type counted struct {
	calls, errors, unended int
	took                   time.Duration // of calls whose beginning and end were seen
}

func count(events []probes.Event) (n counted) {
	open := map[uint64]int64{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case probes.Enter:
			if e.Span != 0 {
				open[e.Span] = e.Mono
				n.calls++
			}
		case probes.Exit:
			if e.Error != "" {
				n.errors++
			}
			begin, is := open[e.Span]
			if !is {
				n.calls++
				continue
			}
			n.took += time.Duration(max(e.Mono-begin, 0))
			delete(open, e.Span)
		}
	}
	n.unended = len(open)
	return n
}

// TestPerfetto: slices nest in their tracks. There is one for each call, and their times add up
// to those of the calls.
func TestPerfetto(t *testing.T) {
	for _, path := range recordings {
		t.Run(filepath.Base(path), func(t *testing.T) {
			about, events := read(t, path)
			var b bytes.Buffer
			exported(t, about, events, NewPerfetto(&b, about))
			p := parsePerfetto(t, b.Bytes())
			want := count(events)
			var got counted
			var drift time.Duration
			for _, s := range p.slices(t) {
				if slices.Contains(s.categories, categoryHeld) {
					continue
				}
				got.calls++
				switch {
				case s.endUnseen:
					got.unended++
				case !s.beginUnseen:
					got.took += time.Duration(s.end - s.begin)
					drift += nudge
				}
				if slices.Contains(s.categories, categoryError) {
					got.errors++
				}
			}
			if got.calls != want.calls || got.errors != want.errors || got.unended != want.unended || (got.took-want.took).Abs() > drift {
				t.Errorf("slices are %+v, calls %+v", got, want)
			}
			for uuid, track := range p.tracks {
				if parent, is := p.tracks[track.parent]; track.parent != 0 && (!is || parent.parent != 0) {
					t.Errorf("track %d is in track %d, which is none of a pod", uuid, track.parent)
				}
			}
			if p.clocks != 1 {
				t.Errorf("the wall clock is given %d times", p.clocks)
			}
		})
	}
}

// TestOTLP: there is a span for each call. Parents exist and span their children, links lead to
// spans that exist, and identifiers are unique.
func TestOTLP(t *testing.T) {
	for _, path := range recordings {
		t.Run(filepath.Base(path), func(t *testing.T) {
			about, events := read(t, path)
			byID := map[string]*tracepb.Span{}
			pods := map[string]string{} // by trace
			var n, failed int
			exported(t, about, events, NewOTLP(about, func(batch []*tracepb.ResourceSpans) error {
				for _, r := range batch {
					pod := ""
					for _, a := range r.Resource.Attributes {
						if a.Key == "k8s.pod.uid" {
							pod = a.Value.GetStringValue()
						}
					}
					for _, s := range r.ScopeSpans[0].Spans {
						n++
						if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
							failed++
						}
						id := hex.EncodeToString(s.SpanId)
						if byID[id] != nil {
							t.Errorf("%s has the id of %s", s.Name, byID[id].Name)
						}
						byID[id] = s
						if was, is := pods[string(s.TraceId)]; is && was != pod {
							t.Errorf("a trace is of the pods %s and %s", was, pod)
						}
						pods[string(s.TraceId)] = pod
						if s.EndTimeUnixNano < s.StartTimeUnixNano {
							t.Errorf("%s ends before it begins", s.Name)
						}
					}
				}
				return nil
			}, nil))
			if want := count(events); n < want.calls || failed < want.errors {
				t.Errorf("%d spans, %d failed, of %+v", n, failed, want)
			}
			for _, s := range byID {
				if len(s.ParentSpanId) > 0 {
					up := byID[hex.EncodeToString(s.ParentSpanId)]
					if up == nil {
						t.Errorf("the parent of %s is missing", s.Name)
					} else if s.StartTimeUnixNano < up.StartTimeUnixNano || s.EndTimeUnixNano > up.EndTimeUnixNano {
						t.Errorf("%s is not within %s", s.Name, up.Name)
					}
				}
				for _, l := range s.Links {
					if to := byID[hex.EncodeToString(l.SpanId)]; to == nil || !bytes.Equal(to.TraceId, l.TraceId) {
						t.Errorf("a link of %s leads nowhere", s.Name)
					} else if to.StartTimeUnixNano > s.StartTimeUnixNano {
						t.Errorf("%s is linked to %s, which began later", s.Name, to.Name)
					}
				}
			}
		})
	}
}

// TestOTLPFile: the file's JSON has the same spans, in the form that OTLP gives.
func TestOTLPFile(t *testing.T) {
	about, events := read(t, recordings[2])
	var b bytes.Buffer
	exported(t, about, events, NewOTLPFile(&b, about))
	n := 0
	for line := range bytes.Lines(b.Bytes()) {
		var data struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID, SpanID, StartTimeUnixNano string
						Kind                               int
						Attributes                         []struct{ Value map[string]any }
					}
				}
			}
		}
		if err := json.Unmarshal(line, &data); err != nil {
			t.Fatal(err)
		}
		for _, r := range data.ResourceSpans {
			for _, s := range r.ScopeSpans[0].Spans {
				n++
				if len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.StartTimeUnixNano == "" || s.Kind == 0 {
					t.Errorf("span %+v", s)
				}
				for _, a := range s.Attributes {
					if len(a.Value) != 1 {
						t.Errorf("attribute %v", a)
					}
				}
			}
		}
	}
	if want := count(events); n < want.calls {
		t.Errorf("%d spans of %d calls", n, want.calls)
	}
}

// TestJSON: a line has what the call's events have.
func TestJSON(t *testing.T) {
	about, events := read(t, recordings[0])
	var b bytes.Buffer
	exported(t, about, events, NewJSON(&b, about))
	var got counted
	for line := range bytes.Lines(b.Bytes()) {
		var c callJSON
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Kind != "call" {
			continue
		}
		got.calls++
		switch {
		case c.EndUnseen:
			got.unended++
		case !c.BeginUnseen:
			got.took += time.Duration(c.DurationNs)
		}
		if c.Error != "" {
			got.errors++
		}
	}
	if want := count(events); got != want {
		t.Errorf("lines have %+v, the events %+v", got, want)
	}
}

// story is a small one with everything that is marked: a hold, an error, a fault, lost events,
// a call on another goroutine.
func story() (*About, []probes.Event) {
	web := &probes.Pod{Namespace: "default", Name: "web", UID: "u-web"}
	begin := time.Unix(1_800_000_000, 0)
	var out []probes.Event
	add := func(ms int, kind probes.Kind, step string, span, parent uint64, change func(*probes.Event)) {
		d := time.Duration(ms) * time.Millisecond
		stage, _, _ := strings.Cut(step, ".")
		e := probes.Event{Seq: uint64(len(out) + 1), Kind: kind, Stage: stage, Step: step, Span: span, Parent: parent, Pod: web, Time: begin.Add(d), Mono: int64(d), Goroutine: "worker", Sync: 1, Probe: "woven"}
		if change != nil {
			change(&e)
		}
		out = append(out, e)
	}
	fields := func(f map[string]any) func(*probes.Event) {
		return func(e *probes.Event) { e.Fields = f }
	}
	add(0, probes.Enter, "sync.pod", 1, 0, fields(map[string]any{"updateType": "create"}))
	add(1, probes.Enter, "cri.RunPodSandbox", 2, 1, fields(map[string]any{"request": probes.RawJSON(`{"metadata":{"name":"web"}}`)}))
	add(1, probes.Held, "cri.RunPodSandbox", 2, 0, fields(map[string]any{"on": "enter"}))
	add(21, probes.Released, "cri.RunPodSandbox", 2, 0, fields(map[string]any{"on": "enter", "reason": "continue"}))
	add(30, probes.Exit, "cri.RunPodSandbox", 2, 1, fields(map[string]any{"podSandboxID": "s1"}))
	add(31, probes.Enter, "cri.PullImage", 3, 1, fields(map[string]any{"image": "busybox", "container": "app"}))
	add(31, probes.Fault, "cri.PullImage", 3, 0, fields(map[string]any{"delay": "1s"}))
	add(40, probes.Exit, "cri.PullImage", 3, 1, func(e *probes.Event) {
		e.Error = "rpc error: code = NotFound desc = busybox: not found"
	})
	add(41, probes.Exit, "sync.pod", 1, 0, nil)
	add(42, probes.Enter, "vol.op", 4, 1, func(e *probes.Event) { e.Goroutine, e.Stage = "recon", "volume" })
	add(50, probes.Drop, "", 0, 0, func(e *probes.Event) { e.Pod, e.Goroutine, e.Fields = nil, "", map[string]any{"exit": int64(2)} })
	return &About{Info: &agentpb.InfoResponse{Node: "node-1", KubeletVersion: "v1.36.3", Pid: 42}, Catalogue: probes.MustLoad()}, out
}

func TestGolden(t *testing.T) {
	about, events := story()
	for _, f := range Formats() {
		var b bytes.Buffer
		exported(t, about, events, f.New(&b, about))
		got := b.Bytes()
		switch f.Name {
		case "perfetto":
			got = []byte(parsePerfetto(t, got).String())
		case "pprof":
			p, err := profile.ParseData(got)
			if err != nil {
				t.Fatal(err)
			}
			got = []byte(p.String())
		}
		if f.Name == "otlp" {
			var indented bytes.Buffer
			if err := json.Indent(&indented, withoutVersion(got), "", " "); err != nil {
				t.Fatal(err)
			}
			got = indented.Bytes()
		}
		path := filepath.Join("testdata", "story."+f.Name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v); go test -update writes it:\n%s", path, err, got)
		}
	}
}

// withoutVersion removes the version, which differs from build to build.
func withoutVersion(b []byte) []byte {
	before, rest, _ := bytes.Cut(b, []byte(`"version":"`))
	_, after, _ := bytes.Cut(rest, []byte(`"`))
	return slices.Concat(before, []byte(`"version":"V"`), after)
}

// TestSelection: only the chosen pods are written, and losses always are.
func TestSelection(t *testing.T) {
	about, events := story()
	other := events[0]
	other.Pod, other.Span = &probes.Pod{Namespace: "shop", Name: "db", UID: "u-db"}, 99
	events = append(events, other)
	var b bytes.Buffer
	f := NewFeed(&agentpb.PodSelector{Namespace: "shop"}, about, NewJSON(&b, about))
	for i := range events {
		if err := f.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil || strings.Contains(b.String(), `"web"`) || !strings.Contains(b.String(), `"db"`) || !strings.Contains(b.String(), `"drop"`) || f.Events() != 2 {
		t.Errorf("%v, %d events: %s", err, f.Events(), &b)
	}
}

// TestMemory: a long recording is exported in the memory of a short one.
func TestMemory(t *testing.T) {
	crowd, err := tracetest.NewCrowd(recordings[0], 10, time.Unix(1_800_000_000, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	about := &About{Info: crowd.Info, Catalogue: probes.MustLoad()}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, format := range Formats() {
		out := format.New(io.Discard, about)
		f := NewFeed(&agentpb.PodSelector{}, about, out)
		decode := wire.NewDecoder(crowd.Info)
		// The pods come again and again, so all that is kept of them is there after a round.
		var sizes [2]uint64
		for round := range sizes {
			for range 30 {
				b, err := crowd.Batch(2000)
				if err != nil {
					t.Fatal(err)
				}
				events := decode.Batch(b)
				for i := range events {
					if err := f.Add(&events[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			sizes[round] = heap()
		}
		if grown := int64(sizes[1]) - int64(sizes[0]); grown > 16<<20 {
			t.Errorf("%s: 60,000 events more take %d bytes more", format.Name, grown)
		}
		runtime.KeepAlive(out)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	write := func(text string, force bool) error {
		f, err := Create(path, force)
		if err != nil {
			return err
		}
		defer f.Discard()
		if _, err := io.WriteString(f, text); err != nil {
			return err
		}
		return f.Commit()
	}
	if err := write("one", false); err != nil {
		t.Fatal(err)
	}
	if err := write("two", false); !errors.Is(err, ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if err := write("three", true); err != nil {
		t.Error(err)
	}
	// Discarded: the earlier file stays, and nothing is left over.
	f, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "four"); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	// Somebody takes the name meanwhile.
	late := filepath.Join(dir, "late")
	if f, err = Create(late, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(late, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); !errors.Is(err, ErrExists) {
		t.Errorf("a name that was taken meanwhile: %v", err)
	}
	if _, err := Create(dir, true); err == nil {
		t.Error("a directory is replaced")
	}
	entries, err := os.ReadDir(dir)
	text, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || len(entries) != 2 || string(text) != "three" || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %q %v: %v", entries, text, info.Mode(), err)
	}
}

// TestCopy: a damaged trace is exported up to the damage.
func TestCopy(t *testing.T) {
	raw, err := os.ReadFile(recordings[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		raw  []byte
		bad  bool
	}{{"whole", raw, false}, {"cut", raw[:len(raw)*2/3], true}} {
		r, err := trace.NewReader(bytes.NewReader(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		about := &About{Info: r.Header().Info, Catalogue: probes.MustLoad()}
		var b bytes.Buffer
		err = Copy(t.Context(), r, about, NewFeed(&agentpb.PodSelector{}, about, NewJSON(&b, about)))
		var source *SourceError
		if errors.As(err, &source) != c.bad || !c.bad && err != nil || b.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", c.name, err, b.Len())
		}
	}
}

// FuzzExport: the export of any bytes ends, and what it wrote can be read.
func FuzzExport(f *testing.F) {
	for _, path := range recordings[1:3] {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, format := range Formats() {
			r, err := trace.NewReader(bytes.NewReader(raw))
			if err != nil {
				return
			}
			about := &About{Info: r.Header().Info, Catalogue: probes.MustLoad()}
			var b bytes.Buffer
			err = Copy(t.Context(), r, about, NewFeed(&agentpb.PodSelector{}, about, format.New(&b, about)))
			var source *SourceError
			if err != nil && !errors.As(err, &source) {
				t.Fatal(err)
			}
			readable(t, format.Name, b.Bytes())
		}
	})
}

// foldedLine is a line of folded stacks.
var foldedLine = regexp.MustCompile(`^[^;]+(;[^;]+)* [1-9][0-9]*$`)

// readable checks that what a form wrote can be read.
func readable(t *testing.T, name string, out []byte) {
	switch name {
	case "perfetto":
		parsePerfetto(t, out).slices(t)
		return
	case "pprof":
		if _, err := profile.ParseData(out); err != nil {
			t.Fatal(err)
		}
		return
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if ok := json.Valid(lines.Bytes()); name == "folded" && !foldedLine.Match(lines.Bytes()) || name != "folded" && !ok {
			t.Fatalf("%s: %s", name, lines.Text())
		}
	}
}

// FuzzEvents: events in any order, with any numbers, make slices that nest.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{0, 1, 0, 5, 1, 1, 0, 5, 2, 1, 0, 1, 0, 2, 1, 1})
	f.Add([]byte{0, 1, 0, 1, 0, 2, 1, 1, 1, 1, 0, 2, 1, 2, 1, 9, 2, 1, 0, 0, 3, 1, 0, 7})
	f.Fuzz(func(t *testing.T, raw []byte) {
		about, _ := story()
		pod := &probes.Pod{Namespace: "a", Name: "b", UID: "c"}
		kinds := []probes.Kind{probes.Enter, probes.Exit, probes.Held, probes.Released, probes.Note}
		var events []probes.Event
		var mono int64
		for ; len(raw) >= 4; raw = raw[4:] {
			mono += int64(int8(raw[3]))
			if mono < 0 {
				mono = 0
			}
			events = append(events, probes.Event{
				Kind: kinds[int(raw[0])%len(kinds)], Span: uint64(raw[1] % 16), Parent: uint64(raw[2] % 16), Pod: pod, Mono: mono,
				Time: time.Unix(1e9, mono), Step: fmt.Sprintf("step.%d", raw[1]%16), Stage: "step", Goroutine: "worker", DurationNs: int64(raw[3]),
			})
		}
		var b bytes.Buffer
		exported(t, about, events, NewPerfetto(&b, about))
		parsePerfetto(t, b.Bytes()).slices(t)
	})
}
