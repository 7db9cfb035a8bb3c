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

// TestBookmarks: they are in the order of the session, whatever the order in which
// they were set, and next goes round from wherever one is.
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

// TestEach: all go on at once, and each error says whose it is.
func TestEach(t *testing.T) {
	var started sync.WaitGroup
	started.Add(3)
	done, err := Each(t.Context(), []string{"a", "b", "c"}, func(s string) string { return "pod " + s }, func(_ context.Context, s string) (string, error) {
		started.Done()
		started.Wait() // for the others: one after the other would wait for ever
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
