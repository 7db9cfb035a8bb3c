package marks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/podstep/podstep/probes"
)

func TestPods(t *testing.T) {
	var p Pods
	for _, uid := range []string{"a", "b", "c", "b"} {
		p.Toggle(probes.Pod{UID: uid})
	}
	if p.Len() != 2 || !p.Has("a") || p.Has("b") || !p.Has("c") || p.Has("") {
		t.Errorf("marked: %v", p.All())
	}
	if p.Clear(); p.Len() != 0 {
		t.Error("all marks were taken away")
	}
}

// TestBookmarks: bookmarks are in the order of the session, in whatever order they were set, and Next goes round
// from any place.
func TestBookmarks(t *testing.T) {
	var b Bookmarks
	event := func(pos int) Bookmark { return Bookmark{Pos: pos} }
	row := Bookmark{Pos: 20, UID: "u", Row: "s7.0"}
	for _, m := range []Bookmark{event(30), row, event(10)} {
		if !b.Toggle(m) {
			t.Fatalf("%+v is not set", m)
		}
	}
	for _, c := range []struct {
		here Bookmark
		dir  int
		want int
	}{
		{event(10), 1, 20}, {row, 1, 30}, {event(30), 1, 10}, {event(10), -1, 30}, {row, -1, 10},
		{event(15), 1, 20}, {event(15), -1, 10}, {event(40), 1, 10}, {event(5), -1, 30},
		{Bookmark{Pos: 20, UID: "other", Row: "s7.0"}, 1, 20},
	} {
		if m, k, ok := b.Next(c.here, c.dir); !ok || m.Pos != c.want || k != c.want/10 {
			t.Errorf("from %+v by %d: %+v, the %d., want %d", c.here, c.dir, m, k, c.want)
		}
	}
	row.Pos = 21 // its first event may be another one later
	if b.Toggle(row) || b.Len() != 2 || b.Has(row) {
		t.Error("the bookmark at the row stays")
	}
}

// TestEach: all calls run at once, and each error names its thing.
func TestEach(t *testing.T) {
	var started sync.WaitGroup
	started.Add(3)
	done, err := Each(t.Context(), []string{"a", "b", "c"}, func(s string) string { return "pod " + s }, func(_ context.Context, s string) (string, error) {
		started.Done()
		started.Wait() // wait for the others: calls one after the other would wait for ever
		if s == "b" {
			return "", errors.New("refused")
		}
		return s, nil
	})
	if strings.Join(done, " ") != "a c" || err == nil || err.Error() != "pod b: refused" {
		t.Errorf("done %q, error %v", done, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Each(ctx, []string{"a"}, strings.ToLower, func(ctx context.Context, _ string) (int, error) { return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// TestKeptBookmarks: kept bookmarks come back at the present positions of their events, beside the bookmarks that
// are there already. A row that may have changed becomes its event.
func TestKeptBookmarks(t *testing.T) {
	var b Bookmarks
	row := Bookmark{Pos: 20, UID: "u", Row: "s7.0"}
	b.Toggle(Bookmark{Pos: 10})
	b.Toggle(row)
	b.Toggle(Bookmark{Pos: 30}) // of another agent
	kept := b.Keep(func(pos int) (uint64, bool) { return uint64(pos + 1000), pos < 30 })
	text, err := Encode("/x.podstep", kept)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err = Decode(text); err != nil || len(kept) != 2 {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	var again Bookmarks
	again.Toggle(Bookmark{Pos: 5})
	missing := again.Restore(append(kept, Kept{Seq: 7}), map[uint64]int{1010: 5, 1020: 8})
	if len(missing) != 1 || missing[0].Seq != 7 || again.Len() != 2 {
		t.Errorf("restored %+v, missing %+v", again, missing)
	}
	there := Bookmark{Pos: 8, UID: "u", Row: "s7.0"}
	if !again.Has(there) || again.Has(Bookmark{Pos: 9, UID: "u", Row: "s7.0"}) {
		t.Error("a row of the same name and another event counts as the bookmark's")
	}
	again.ToEvent(there)
	if again.Has(there) || !again.Has(Bookmark{Pos: 8}) || again.Len() != 2 {
		t.Errorf("now there are %+v", again)
	}
	if _, err := Decode([]byte(`[]`)); err == nil {
		t.Error("another file is read as bookmarks")
	}
	if _, err := Encode("", make([]Kept, MaxKept+1)); err == nil {
		t.Error("some of too many bookmarks are kept, without an error")
	}
}
