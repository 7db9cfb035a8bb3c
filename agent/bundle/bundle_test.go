package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
)

// stuck is a bundle of a pod that cannot pull its image.
func stuck(files ...gather.File) *Bundle {
	taken := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "missing:1"}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"},
	}}}
	s := &evidence.Snapshot{Taken: taken, Name: evidence.Name{Namespace: "default", Name: "web", UID: "u1"}, Pod: pod}
	s.Saw(evidence.API, "pods/web", taken)
	return &Bundle{Podstep: "v0", Snapshot: s, Files: files}
}

// TestBundle writes a bundle and reads it again: the answer is the one that was given on the node.
func TestBundle(t *testing.T) {
	story, err := os.ReadFile(filepath.Join("..", "trace", "testdata", "node.podstep"))
	if err != nil {
		t.Fatal(err)
	}
	b := stuck(
		gather.File{Name: gather.StoryFile, What: "its story", Text: story},
		gather.File{Name: "kubelet.log", What: "the log", Why: "it is in no file"},
	)
	path := filepath.Join(t.TempDir(), "web.tar.gz")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	here, there := causes.Explain(b.Snapshot), causes.Explain(got.Snapshot)
	if len(here.Findings) == 0 || len(there.Findings) != len(here.Findings) || there.Findings[0].Cause.ID != here.Findings[0].Cause.ID || there.Word() != here.Word() {
		t.Errorf("here %+v, there %+v", here.Findings, there.Findings)
	}
	r, err := Story(path)
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	events := 0
	for err == nil {
		batch, next := r.Next()
		events, err = events+len(batch.GetEvents()), next
	}
	if !errors.Is(err, io.EOF) || events == 0 {
		t.Errorf("%d events, %v", events, err)
	}
	text := string(b.list())
	for _, want := range []string{"pod default/web", "story.podstep", "kubelet.log", "the log: it is in no file"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not have %q:\n%s", want, text)
		}
	}
	if err := b.Write(path); err == nil || !strings.Contains(err.Error(), "is there already; name a new file") {
		t.Errorf("written again: %v", err)
	}
}

// TestNoStory is about a bundle of a node without an agent.
func TestNoStory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.tar.gz")
	if err := stuck().Write(path); err != nil {
		t.Fatal(err)
	}
	if r, err := Story(path); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// TestDamaged reads what is no bundle, and what is the beginning of one.
func TestDamaged(t *testing.T) {
	in := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(in, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := filepath.Join(in, "whole")
	if err := stuck().Write(whole); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":     {nil, ErrNoBundle.Error()},
		"text":        {[]byte("hello"), ErrNoBundle.Error()},
		"another tar": {packed(t, "x", 1), ErrNoBundle.Error()},
		"no snapshot": {packed(t, dir+list, 1), "the bundle has no snapshot"},
		"cut":         {text[:len(text)-40], "the bundle is damaged"},
		"a bad one":   {packed(t, dir+list, 1, dir+snapshot, 1), "the bundle is damaged"},
	} {
		path := write(strings.ReplaceAll(name, " ", "-"), c.text)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(in, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// packed makes a packed tar of files of given sizes.
func packed(t *testing.T, files ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i].(string), Size: int64(files[i+1].(int)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, files[i+1].(int))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
