package logstory

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded says of what time the logs in testdata are.
var recorded = Options{Near: time.Date(2026, 11, 25, 23, 0, 0, 0, time.UTC)}

// story returns the events that logs make.
func story(t testing.TB, o Options, names ...string) (s *Source, out []probes.Event) {
	t.Helper()
	s, err := Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := wire.NewDecoder(s.Header().Info)
	for {
		b, err := s.Next()
		if errors.Is(err, io.EOF) {
			return s, out
		}
		if err != nil {
			t.Fatal(err)
		}
		d.AddPods(b.Pods)
		for _, raw := range b.Events {
			out = append(out, d.Event(raw))
		}
	}
}

// print writes events one a line.
func print(all []probes.Event) string {
	var b strings.Builder
	depth := map[uint64]int{}
	for _, e := range all {
		if e.Kind == probes.Enter {
			depth[e.Span] = 0
			if d, ok := depth[e.Parent]; ok && e.Parent != 0 {
				depth[e.Span] = d + 1
			}
		}
		fmt.Fprintf(&b, "%s %d %-7s %s%s %s", e.Time.UTC().Format("15:04:05.000000"), e.Sync, e.Pod.Name, strings.Repeat("  ", depth[e.Span]), e.Kind, e.Step)
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			fmt.Fprintf(&b, " %s=%v", name, e.Fields[name])
		}
		if e.DurationNs > 0 {
			fmt.Fprintf(&b, " took=%v", time.Duration(e.DurationNs))
		}
		if e.Error != "" {
			fmt.Fprintf(&b, " error=%q", e.Error)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	is, should := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Fatalf("%s differs from line %d on; write it anew with -update\n%s", name, i+1, strings.Join(is[min(i, len(is)):min(i+3, len(is))], "\n"))
		}
	}
}

// TestRecorded tells the stories of logs that a node wrote: of a kubelet at -v=4 and at its default, and of its
// containerd.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"v4", "v2"} {
		s, all := story(t, recorded, "testdata/"+name+".log", "testdata/"+name+"-containerd.log")
		golden(t, name, print(all))
		whole(t, all)
		info := s.Header().Info
		if info.Node != "node-1" || info.KubeletVersion != "v1.36.3" || info.Probes[0].Knows.Turns != (name == "v4") {
			t.Errorf("%s: %v", name, info.Probes)
		}
	}
}

// whole checks that events are ones that an agent could send: numbered, in order of time, each call begun once and
// ended once, in a call of its own pod.
func whole(t testing.TB, all []probes.Event) {
	t.Helper()
	type span struct {
		pod   string
		step  string
		ended bool
	}
	spans := map[uint64]*span{}
	var mono int64
	for i, e := range all {
		if e.Seq != uint64(i)+1 || e.Mono < mono || e.Pod == nil || e.Pod.UID == "" || e.Pod.Name == "" || e.Step == "" {
			t.Fatalf("event %d is %+v", i, e)
		}
		mono = e.Mono
		s := spans[e.Span]
		switch {
		case e.Kind == probes.Enter && s == nil:
			s = &span{pod: e.Pod.UID, step: e.Step}
			spans[e.Span] = s
		case e.Kind == probes.Exit && s == nil: // the beginning is not in the log
			spans[e.Span] = &span{pod: e.Pod.UID, step: e.Step, ended: true}
		case e.Kind == probes.Exit && !s.ended && s.step == e.Step && s.pod == e.Pod.UID:
			s.ended = true
		default:
			t.Fatalf("event %d does not fit its call: %+v", i, e)
		}
		if up := spans[e.Parent]; e.Parent != 0 && (up == nil || up.pod != e.Pod.UID) {
			t.Fatalf("event %d is in a call of another pod, or in none: %+v", i, e)
		}
		if e.DurationNs < 0 {
			t.Fatalf("event %d has a negative duration: %+v", i, e)
		}
	}
}

// write writes a file of a test.
func write(t testing.TB, name string, text []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestForms checks that one log tells the same in every form in which people have it.
func TestForms(t *testing.T) {
	kubelet, err := os.ReadFile("testdata/v4.log")
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := os.ReadFile("testdata/v4-containerd.log")
	if err != nil {
		t.Fatal(err)
	}
	_, all := story(t, recorded, "testdata/v4.log", "testdata/v4-containerd.log")
	want := print(all)
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(kubelet)
	z.Close()
	p, _ := zstd.NewWriter(&packed)
	_, _ = p.Write(runtime)
	p.Close()
	half := bytes.Index(kubelet[len(kubelet)/2:], []byte("\n")) + len(kubelet)/2 + 1
	prefixed := func(program string, text []byte) (out []byte) {
		for line := range bytes.Lines(text) {
			out = append(append(out, "Nov 25 15:06:00 node-1 "+program+"[1391]: "...), line...)
		}
		return out
	}
	for name, files := range map[string][]string{
		"packed":        {write(t, "k.gz", zipped.Bytes()), write(t, "c.zst", packed.Bytes())},
		"rotated":       {write(t, "2", kubelet[half:]), write(t, "c", runtime), write(t, "1", kubelet[:half])},
		"journalctl":    {write(t, "k", prefixed("kubelet", kubelet)), write(t, "c", prefixed("containerd", runtime))},
		"short-full":    {write(t, "k", bytes.ReplaceAll(prefixed("kubelet", kubelet), []byte("Nov 25 15:06:00 node-1"), []byte("Wed 2026-11-25 15:06:00 UTC node-1"))), write(t, "c", runtime)},
		"line ends":     {write(t, "k", bytes.ReplaceAll(kubelet, []byte("\n"), []byte("\r\n"))), write(t, "c", runtime)},
		"other lines":   {write(t, "k", append([]byte("-- Logs begin at Wed --\n\x00\xff\n\n"), kubelet...)), write(t, "c", append(runtime, "no end of a line"...))},
		"runtime first": {"testdata/v4-containerd.log", "testdata/v4.log"},
	} {
		if _, all := story(t, recorded, files...); print(all) != want {
			t.Errorf("%s: the story is another", name)
		}
	}
}

// TestJournalJSON reads what journalctl -o json prints: the journal has the year, and the kubelet and the runtime are
// in one file.
func TestJournalJSON(t *testing.T) {
	var b bytes.Buffer
	for _, name := range []string{"testdata/v4.log", "testdata/v4-containerd.log"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			r := newReader(strings.NewReader(line), &clock{recorded.Near})
			e, err := r.read()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, `{"__CURSOR":"x","__REALTIME_TIMESTAMP":"%d","_COMM":"kubelet","MESSAGE":%q}`+"\n", e.at.AddDate(-1, 0, 0).UnixMicro(), strings.TrimSuffix(line, "\n"))
		}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	s, all := story(t, recorded, write(t, "journal", []byte(strings.Join(lines, ""))))
	whole(t, all)
	if got := s.Header().Began.Year(); got != 2025 || len(all) < 300 {
		t.Errorf("%d events, from %d on", len(all), got)
	}
}

// TestNoLog checks what is told of files that are no logs, and of broken ones.
func TestNoLog(t *testing.T) {
	text, err := os.ReadFile("testdata/v2.log")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(text)
	z.Close()
	for name, c := range map[string]struct{ file, want string }{
		"absent":     {filepath.Join(t.TempDir(), "none"), "no such file"},
		"directory":  {t.TempDir(), ErrNoLog.Error()},
		"empty":      {write(t, "f", nil), ErrNoLog.Error()},
		"binary":     {write(t, "f", bytes.Repeat([]byte{0, 1, 2, 255}, 1<<18)), ErrNoLog.Error()},
		"other text": {write(t, "f", []byte("a\nb\n")), ErrNoLog.Error()},
		"cut short":  {write(t, "f", zipped.Bytes()[:zipped.Len()/2]), "unexpected EOF"},
		"no gzip":    {write(t, "f", []byte{0x1f, 0x8b, 1, 2}), "unpack"},
	} {
		if _, err := Open([]string{c.file}, recorded); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLongLine checks that a line of any length is no more than a line that is not understood.
func TestLongLine(t *testing.T) {
	text, err := os.ReadFile("testdata/v2.log")
	if err != nil {
		t.Fatal(err)
	}
	_, all := story(t, recorded, "testdata/v2.log")
	long := io.MultiReader(strings.NewReader("x"), io.LimitReader(zeros{}, 100<<20), strings.NewReader("\n"), bytes.NewReader(text))
	r, found := newReader(long, &clock{recorded.Near}), &survey{}
	if err := found.read(r); err != nil || found.kubelet != bytes.Count(text, []byte("\n")) {
		t.Errorf("%d entries: %v", found.kubelet, err)
	}
	if len(all) == 0 {
		t.Error("nothing was told")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// TestBounds leaves out entries by their time.
func TestBounds(t *testing.T) {
	o := recorded
	o.Since, o.Until = time.Date(2026, 11, 25, 15, 6, 2, 0, time.UTC), time.Date(2026, 11, 25, 15, 6, 20, 0, time.UTC)
	_, all := story(t, o, "testdata/v4.log", "testdata/v4-containerd.log")
	whole(t, all)
	for _, e := range all {
		if e.Time.Before(o.Since) || e.Time.After(o.Until) {
			t.Errorf("%s is of %v", e.Step, e.Time)
		}
	}
	if len(all) == 0 {
		t.Error("nothing was told")
	}
}

// TestSecrets checks that values which the catalogue does not name leave nothing behind, nor do the secrets in those
// that it names.
func TestSecrets(t *testing.T) {
	const canary = "canary-3f9a7c5e1b"
	head := "I1125 15:06:00.54%04d    1391 a.go:1] "
	pod := ` pod="default/web" podUID="14aeac67-0bbb-42b1-b114-6fccd7119c36"`
	lines := []string{
		`"SyncPod enter"` + pod + ` config={"env":[{"name":"A","value":"` + canary + `"}]}`,
		`"computePodActions got for pod" podActions="KillPod: false, CreateSandbox: false, InitContainersToStart: [], ContainersToStart: [], env: ` + canary + `"` + pod,
		`"Patch status for pod"` + pod + ` patch="{\"a\":\"` + canary + `\"}"`,
		`"Status for pod updated successfully"` + pod + ` statusVersion=1 status={"phase":"Pending","message":"password=` + canary + `","annotations":{"a":"` + canary + `"},` +
			`"containerStatuses":[{"name":"a","state":{"waiting":{"reason":"X","message":"token: ` + canary + `"}},"env":"` + canary + `"}]}`,
		`"Error syncing pod, skipping" err="get https://user:` + canary + `@example.invalid/v2: password=` + canary + `"` + pod,
		`"Probe failed" probeType="Readiness"` + pod + ` containerName="a" probeResult="failure" output="` + canary + `"`,
		`"PreStop hook failed"` + pod + ` containerName="a" err="command 'echo ` + canary + `' exited with 1: ` + canary + `"`,
		`"Event occurred" object="default/web" fieldPath="spec.containers{a}" kind="Pod" type="Warning" reason="Unhealthy" message="Readiness probe failed: ` + canary + `"`,
		`"SyncPod exit"` + pod,
	}
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, head+line+"\n", i)
	}
	s, all := story(t, recorded, write(t, "log", []byte(b.String())))
	whole(t, all)
	if text := print(all) + fmt.Sprint(s.Header()); strings.Contains(text, canary) || len(all) < 12 {
		t.Errorf("%d events:\n%s", len(all), text)
	}
}

// TestRecreated tells apart two pods that had one name, by lines that have only the name.
func TestRecreated(t *testing.T) {
	line := func(at, text string) string { return "I1125 15:06:" + at + "    1391 a.go:1] " + text + "\n" }
	turn := func(at, uid string) string {
		return line(at, `"Processing pod event" pod="a/b" podUID="`+uid+`" updateType="sync"`) + line(at, `"Waiting for volumes to attach and mount for pod" pod="a/b"`)
	}
	log := line("00.000001", `"SyncLoop ADD" source="api" pods=["a/b"]`) + turn("00.100000", "u1") + line("05.000000", `"SyncLoop REMOVE" source="api" pods=["a/b"]`) +
		line("06.000001", `"SyncLoop ADD" source="api" pods=["a/b"]`) + turn("06.100000", "u2") +
		line("06.200000", `"Processing pod event done" pod="a/b" podUID="u1" updateType="terminated"`) + line("06.300000", `"All volumes are attached and mounted for pod" pod="a/b"`)
	_, all := story(t, recorded, write(t, "log", []byte(log)))
	whole(t, all)
	got := map[string][]string{}
	for _, e := range all {
		if e.Kind == probes.Enter && e.Step != "cluster.bound" {
			got[e.Pod.UID] = append(got[e.Pod.UID], e.Step)
		}
	}
	want := map[string][]string{"u1": {"loop.add", "worker.turn", "sync.volumes", "cluster.gone", "loop.remove"}, "u2": {"loop.add", "worker.turn", "sync.volumes"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzStory checks that whatever is in a log, the events are ones that an agent could send.
func FuzzStory(f *testing.F) {
	for _, name := range []string{"v4.log", "v4-containerd.log", "v2.log"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 6000)])
		f.Add(text[len(text)/2 : min(len(text), len(text)/2+6000)])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		name := write(t, "log", text)
		s, err := Open([]string{name}, recorded)
		if err != nil {
			return
		}
		s.Close()
		_, all := story(t, recorded, name)
		whole(t, all)
	})
}
