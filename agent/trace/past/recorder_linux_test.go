package past

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// await waits until something is so.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (a *fakeAgent) events() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return uint64(len(a.all))
}

// recorded waits until all events are with the recorder.
func recorded(t testing.TB, r *Recorder, a *fakeAgent) {
	t.Helper()
	await(t, "all events are recorded", func() bool { return r.last.Load() == a.events() })
}

// noisy makes events that do not compress.
func (a *fakeAgent) noisy(n int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		text := make([]byte, 400)
		for i := range text {
			text[i] = 'a' + byte(random.IntN(26))
		}
		a.happens(time.Second, &agentpb.Event{Kind: agentpb.Kind_NOTE, Pod: 1, Fields: []*agentpb.Field{eventtest.Field("text", string(text))}})
	}
}

// TestRecord: what was recorded by several segments is read as one story, also while podstep records.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	a := newFakeAgent("node-1", time.Now())
	o := a.options(t, dir)
	o.segmentTime = time.Nanosecond // a segment for each batch
	r := start(t, o)
	for i := range 20 {
		a.call(time.Duration(i)*time.Second, uint32(i%3+1), uint64(i+1), time.Millisecond)
		recorded(t, r, a)
	}
	stop(t, r)
	files, err := list(dir)
	if err != nil || len(files) < 3 {
		t.Fatalf("%d segments, %v", len(files), err)
	}
	s := read(t, dir, Choice{})
	if got := s.seqs(t); len(got) != 40 || got[39] != 40 || len(s.pods) != 3 {
		t.Errorf("%d events of %d pods: %v", len(got), len(s.pods), got)
	}
	// Any one of them alone.
	for _, f := range files[1:] {
		alone := t.TempDir()
		if err := os.Link(f.path, filepath.Join(alone, filepath.Base(f.path))); err != nil {
			t.Fatal(err)
		}
		if s := read(t, alone, Choice{}); len(s.events) == 0 || len(s.pods) == 0 {
			t.Errorf("%s alone has %d events of %d pods", f.path, len(s.events), len(s.pods))
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	for _, f := range files {
		if info, err := os.Stat(f.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("a segment: %v, %v", info.Mode(), err)
		}
	}
}

// TestReadWhileWriting: events are there a moment after they came.
func TestReadWhileWriting(t *testing.T) {
	dir := t.TempDir()
	a := newFakeAgent("node-1", time.Now())
	start(t, a.options(t, dir))
	a.call(time.Second, 1, 1, 0)
	await(t, "the event can be read", func() bool {
		r, err := Open(Dir(dir), Choice{})
		if err != nil {
			return false
		}
		defer r.Close()
		b, err := r.Next()
		return err == nil && len(b.Events) == 1
	})
}

// sizeOf returns what all files of a directory take.
func sizeOf(t testing.TB, dir string) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// TestBound: the directory is never larger than it may be, and keeps the newest.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	a := newFakeAgent("node-1", time.Now())
	o := a.options(t, dir)
	o.Keep = MinKeep
	r := start(t, o)
	for range 60 {
		a.noisy(200)
		recorded(t, r, a)
		if size := sizeOf(t, dir); size > MinKeep || r.Stats().Bytes > MinKeep {
			t.Fatalf("%d bytes, %d in the statistics", size, r.Stats().Bytes)
		}
	}
	stop(t, r)
	if st := r.Stats(); st.Dropped != 0 || st.Failing != "" || st.Events != a.events() {
		t.Errorf("%+v", st)
	}
	s := read(t, dir, Choice{})
	got := s.seqs(t)
	if n := len(got); n < 1000 || n > 6000 || got[n-1] != a.events() {
		t.Errorf("%d events, up to %d of %d", n, got[n-1], a.events())
	}
	// A podstep that comes later goes on within the bound.
	again := newFakeAgent("node-1", time.Now())
	o = again.options(t, dir)
	o.Keep = MinKeep
	r = start(t, o)
	again.noisy(3000)
	recorded(t, r, again)
	if size := sizeOf(t, dir); size > MinKeep {
		t.Errorf("%d bytes", size)
	}
}

func TestKeepFor(t *testing.T) {
	dir := t.TempDir()
	a := newFakeAgent("node-1", time.Now())
	r := start(t, a.options(t, dir))
	a.call(0, 1, 1, 1)
	recorded(t, r, a)
	stop(t, r)
	files, _ := list(dir)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(files[0].path, old, old); err != nil {
		t.Fatal(err)
	}
	o := a.options(t, dir)
	o.KeepFor = time.Minute
	start(t, o)
	if _, err := os.Stat(files[0].path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a segment that is older than it may be: %v", err)
	}
}

// TestRefused: what cannot be a record directory is refused, with a sentence.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	a := newFakeAgent("node-1", time.Now())
	start(t, a.options(t, dir))
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	few := a.options(t, t.TempDir())
	few.Keep = MinKeep - 1
	for want, o := range map[string]Options{
		"another podstep (pid ":   a.options(t, dir),
		"it is a file":            a.options(t, plain),
		"others than its owner":   a.options(t, open),
		"too few to keep; the le": few,
	} {
		if r, err := Start(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %q", r, err, want)
		}
	}
}

// badDisk is a disk with only so much room, or one that hangs.
type badDisk struct {
	machine
	mu   sync.Mutex
	room int           // bytes that it still takes
	hang chan struct{} // writes wait for it; nil: they do not
}

func (d *badDisk) create(path string) (diskFile, error) {
	f, err := d.machine.create(path)
	return &badFile{f, d}, err
}

func (d *badDisk) set(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

type badFile struct {
	diskFile
	d *badDisk
}

func (f *badFile) Write(p []byte) (int, error) {
	if f.d.hang != nil {
		<-f.d.hang
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n := min(len(p), f.d.room)
	f.d.room -= n
	if _, err := f.diskFile.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestDiskFull: podstep counts what it could not write, goes on when there is room, and the story has the gap.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	d := &badDisk{room: 1 << 20}
	a := newFakeAgent("node-1", time.Now())
	o := a.options(t, dir)
	o.disk = d
	r := start(t, o)
	a.call(time.Second, 1, 1, 0) // its end comes while the disk is full
	a.call(time.Second, 2, 2, 0) // its end comes later
	recorded(t, r, a)
	await(t, "both calls are on the disk", func() bool { return onDisk(dir, agentpb.Kind_ENTER) == 2 })
	d.set(0)
	a.noisy(2000)
	a.happens(2*time.Second, &agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Span: 1})
	a.happens(2*time.Second, &agentpb.Event{Kind: agentpb.Kind_NOTE, Pod: 1})
	await(t, "the recorder notices", func() bool { return r.Stats().Failing != "" })
	await(t, "it counts", func() bool { return r.Stats().Dropped > 0 })
	if !strings.Contains(r.Stats().Failing, "no space left") {
		t.Error(r.Stats().Failing)
	}
	d.set(1 << 30)
	await(t, "it works again", func() bool { return r.Stats().Failing == "" })
	a.happens(3*time.Second, &agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Pod: 2, Span: 2, Duration: int64(2 * time.Second)})
	recorded(t, r, a)
	stop(t, r)
	s := read(t, dir, Choice{})
	s.seqs(t)
	if texts := s.texts(); !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "events were not recorded") }) {
		t.Errorf("no note of the gap in %d notes", len(texts))
	}
	ends := map[uint64]int{}
	for _, e := range s.events {
		if e.Kind == agentpb.Kind_EXIT {
			ends[e.Span]++
		}
	}
	if ends[1] != 1 || ends[2] != 1 {
		t.Errorf("the calls end %v times", ends)
	}
}

// onDisk returns how many events of a kind a directory has now; a segment that is being written may have no whole header yet.
func onDisk(dir string, kind agentpb.Kind) (n int) {
	r, err := Open(Dir(dir), Choice{})
	if err != nil {
		return 0
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if err != nil {
			return n
		}
		for _, raw := range b.Events {
			if head, err := wire.ReadHeader(raw); err == nil && head.Kind == kind {
				n++
			}
		}
	}
}

// TestHang: a disk that does not answer holds up neither the events, nor the statistics, nor the end.
func TestHang(t *testing.T) {
	d := &badDisk{room: 1 << 30, hang: make(chan struct{})}
	a := newFakeAgent("node-1", time.Now())
	o := a.options(t, t.TempDir())
	o.disk = d
	r, err := Start(o) // after startWait
	if err != nil {
		t.Fatal(err)
	}
	a.noisy(1000)
	if st := r.Stats(); st.Events != 0 {
		t.Errorf("%+v", st)
	}
	if err := r.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("it ended with %v", err)
	}
	close(d.hang)
	<-r.printed
}

// TestRemoved: a directory that somebody deletes is made again.
func TestRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	a := newFakeAgent("node-1", time.Now())
	o := a.options(t, dir)
	o.segmentTime = time.Nanosecond
	r := start(t, o)
	a.call(time.Second, 1, 1, 1)
	recorded(t, r, a)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	n := time.Duration(0)
	await(t, "there is a segment again", func() bool {
		n++
		a.call(time.Second+n, 1, uint64(n+1), 1)
		files, err := list(dir)
		return err == nil && len(files) > 0
	})
	recorded(t, r, a)
}
