package logstory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// member is a file of an archive.
type member struct{ name, text string }

// asTar returns members as a tar.
func asTar(t *testing.T, members []member) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o600, ModTime: recorded.Near}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// asDirectory writes members into a directory.
func asDirectory(t *testing.T, members []member) string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range members {
		file := filepath.Join(dir, filepath.FromSlash(m.name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(m.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// asJournal returns logs as one journal has them, in the order in which their lines were written.
func asJournal(kubelet, containerd string) string {
	type line struct {
		at   time.Time
		text string
	}
	var all []line
	for _, log := range []struct{ program, text string }{{"containerd", containerd}, {"kubelet", kubelet}} {
		var at time.Time
		for text := range strings.Lines(log.text) {
			if e, ok := newReader(nil, &clock{recorded.Near}).parse(strings.TrimSuffix(text, "\n")); ok && e.at.After(at) {
				at = e.at
			}
			all = append(all, line{at, "Feb 25 15:06:00 kind-worker " + log.program + "[139]: " + text})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at.Compare(b.at) })
	var out strings.Builder
	for _, l := range all {
		out.WriteString(l.text)
	}
	return out.String()
}

// TestArchives: the logs of a node are found in all forms in which people keep them, among files that are none.
func TestArchives(t *testing.T) {
	kubelet, containerd := readText(t, "testdata/v4.log"), readText(t, "testdata/v4-containerd.log")
	_, all := story(t, recorded, "testdata/v4.log", "testdata/v4-containerd.log")
	want := print(all)
	others := []member{
		{"kubernetes-version.txt", "v1.36.3\n"},
		{"kind-worker/pods/kube-system_apiserver/0.log", "2026-11-25T15:06:00Z stderr F I1125 15:06:00.000000 1 httplog.go:1] \"HTTP\" verb=\"GET\"\n"},
		{"kind-worker/scheduler.log", "I1125 15:06:00.000000       1 serving.go:1] Generated self-signed cert\n"},
		{"kind-worker/inspect.json", `{"ts":1,"msg":"SyncLoop"}`},
		{"kind-worker/empty", ""},
	}
	kind := append(slices.Clone(others), member{"kind-worker/kubelet.log", kubelet}, member{"kind-worker/containerd.log", containerd})
	gathered := []member{
		{"must-gather/nodes/w1/w1_logs_kubelet.gz", zipped(t, kubelet)}, {"must-gather/nodes/w1/containerd.gz", zipped(t, containerd)},
		{"must-gather/cluster-scoped-resources/nodes/w1.yaml", "kind: Node\n"},
	}
	packed, _ := zstd.NewWriter(nil)
	for name, x := range map[string]struct {
		path string
		node string
	}{
		"directory":        {asDirectory(t, kind), ""},
		"tar":              {write(t, "a", []byte(asTar(t, kind))), ""},
		"tar.gz":           {write(t, "a", []byte(zipped(t, asTar(t, kind)))), ""},
		"tar.zst":          {write(t, "a", packed.EncodeAll([]byte(asTar(t, kind)), nil)), ""},
		"tar.xz":           {write(t, "a", xzipped(t, asTar(t, kind))), ""},
		"must-gather":      {write(t, "a", []byte(zipped(t, asTar(t, gathered)))), ""},
		"names lead up":    {write(t, "a", []byte(asTar(t, []member{{"../../etc/k", kubelet}, {"../../etc/c", containerd}}))), ""},
		"twice":            {asDirectory(t, append(slices.Clone(kind), member{"kind-worker/journal.log", asJournal(kubelet, containerd)})), ""},
		"journal":          {asDirectory(t, append(slices.Clone(others), member{"kind-worker/journal.log", asJournal(kubelet, containerd)})), ""},
		"one of two nodes": {asDirectory(t, append(slices.Clone(kind), member{"kind-worker2/kubelet.log", readText(t, "testdata/v2.log")})), "kind-worker"},
	} {
		o := recorded
		o.Node = x.node
		if _, all := story(t, o, x.path); print(all) != want {
			t.Errorf("%s: the story is another", name)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func xzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := xz.NewWriter(&out)
	if err == nil {
		_, err = io.WriteString(z, text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestArchiveFaults: of what cannot be read, the error names the file and the reason.
func TestArchiveFaults(t *testing.T) {
	kubelet := readText(t, "testdata/v4.log")
	two := []member{{"logs/a/kubelet.log", kubelet}, {"logs/b/kubelet.log", kubelet}}
	whole := asTar(t, two)
	for name, c := range map[string]struct {
		path, node, want string
	}{
		"no log":        {asDirectory(t, []member{{"x", "y"}}), "", ErrNoLog.Error()},
		"no log in tar": {write(t, "a", []byte(asTar(t, []member{{"x", "y"}}))), "", ErrNoLog.Error()},
		"two nodes":     {write(t, "a", []byte(whole)), "", "logs of several nodes, in logs/a, logs/b; choose one with --node"},
		"no such node":  {write(t, "a", []byte(whole)), "c", "there is no log in a directory c"},
		"truncated":     {write(t, "a", []byte(whole[:len(whole)-len(kubelet)])), "a", "the archive breaks off"},
		"zipped, cut":   {write(t, "a", []byte(zipped(t, whole)[:2000])), "a", "unexpected EOF"},
		"xz, none":      {write(t, "a", []byte("\xfd7zXZ\x00 and so on")), "", "unpack it: xz"},
		"xz, cut":       {write(t, "a", xzipped(t, whole)[:2000]), "a", "unexpected EOF"},
	} {
		o := recorded
		o.Node = c.node
		_, err := Open([]string{c.path}, o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open([]string{filepath.Join(t.TempDir(), "none")}, recorded); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
