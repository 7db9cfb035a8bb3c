package trace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.podstep")
	for range 2 { // the second trace replaces the first
		w, err := Create(path, header)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(newSample().batch(10)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		if err := w.Add(&agentpb.Batch{}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("added after the end: %v", err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() != w.Size() || w.Events() != 10 {
			t.Errorf("%v, %v; the writer says %d bytes, %d events", info, err, w.Size(), w.Events())
		}
	}
}

func TestCreateLeavesAlone(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "web.yaml")
	if err := os.WriteFile(manifest, []byte("kind: Pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		manifest:                    "there already is not a trace",
		link:                        "is not a file",
		dir:                         "is not a file",
		filepath.Join(dir, "x/y"):   "no such file or directory",
		filepath.Join(manifest, ""): "there already is not a trace",
	} {
		if w, err := Create(path, header); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", path, w, err, want)
		}
	}
	if b, err := os.ReadFile(manifest); err != nil || string(b) != "kind: Pod" {
		t.Errorf("the manifest is %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); err == nil {
		t.Error("a link was followed")
	}
}

func TestOpenErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrNoTrace) || !strings.Contains(err.Error(), path) {
		t.Errorf("another file: %v", err)
	}
}

// disk is a file on a disk with only so much room.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.Buffer.Write(b[:n])
	if d.room -= n; n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) Truncate(n int64) error {
	d.Buffer.Truncate(int(n))
	return nil
}

// TestDiskFull: events that fit on the disk can be read, and the writer reports the error.
func TestDiskFull(t *testing.T) {
	d := &disk{room: 4000}
	w, err := NewWriter(d, header)
	if err != nil {
		t.Fatal(err)
	}
	s := newSample()
	for err == nil && w.Size() < 8000 {
		if err = w.Add(s.batch(50)); err == nil {
			err = w.Flush()
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "after ") {
		t.Fatalf("a full disk is reported as %v", err)
	}
	d.room = 1 << 20
	if again := w.Add(s.batch(50)); !errors.Is(again, syscall.ENOSPC) {
		t.Errorf("then %v", again)
	}
	if last := w.Close(); !errors.Is(last, syscall.ENOSPC) {
		t.Errorf("and at the end %v", last)
	}
	got, err := read(d.Bytes())
	var fault *Fault
	if !errors.As(err, &fault) || !fault.Unfinished || uint64(len(got.Events)) != w.Events() || len(got.Events) == 0 {
		t.Errorf("%d events are read, of %d; %v", len(got.Events), w.Events(), err)
	}
}

// TestHugeEvent: an event that is too large is refused, and others are still written.
func TestHugeEvent(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(&agentpb.Batch{Events: [][]byte{make([]byte, maxEvent+1)}}); err == nil {
		t.Error("an event of any size is taken")
	}
	large := &agentpb.Batch{}
	for range 9 {
		large.Events = append(large.Events, eventtest.Encode(&agentpb.Event{Error: strings.Repeat("x", maxEvent-10)}))
	}
	if err := w.Add(large); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, large)
}

// TestFollow: a reader sees events as soon as they are written, without being told, and sees the end.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, header)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow(t.Context())
	s := newSample()
	want, got := &agentpb.Batch{}, &agentpb.Batch{}
	for range 2 {
		b := s.batch(30)
		want.Events, want.Pods = append(want.Events, b.Events...), append(want.Pods, b.Pods...)
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		next, err := r.Next() // the writer's timer flushes
		if err != nil {
			t.Fatal(err)
		}
		got.Events, got.Pods = append(got.Events, next.Events...), append(got.Pods, next.Pods...)
	}
	same(t, got, want)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
}

// TestFollowPieces: the reader waits for blocks that are written in pieces.
func TestFollowPieces(t *testing.T) {
	raw := written(t, newSample().batch(40))
	in, out := io.Pipe()
	go func() {
		for i := range raw {
			if _, err := out.Write(raw[i : i+1]); err != nil {
				return
			}
		}
		out.Close()
	}()
	r, err := NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.Next(); err != nil || len(b.Events) != 40 {
		t.Errorf("%v", err)
	}
}

func TestFollowEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, header)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r.Follow(ctx)
	cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that was ended says %v", err)
	}
}
