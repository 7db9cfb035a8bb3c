package state

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// upTo is a session of the first n events of the recording.
func (r *recording) upTo(n int) *State {
	s := New(r.info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkReplay, "replay")
	for _, b := range r.batches {
		if len(b.Events) > n {
			b = &agentpb.Batch{Pods: b.Pods, Events: b.Events[:n]}
		}
		s.Add(b)
		n -= len(b.Events)
		if n <= 0 {
			break
		}
	}
	return s
}

// TestAnyPlace: a session that goes back to a place shows the same as a session that has come only so far. Only the
// expected steps may be known better later.
func TestAnyPlace(t *testing.T) {
	r := record(t)
	samePlaces(t, r, r.play(words.English), 53)
}

// TestAnyPlaceBefore: going back works after the kubelet has started again, too.
func TestAnyPlaceBefore(t *testing.T) {
	r := record(t)
	long := r.upTo(3000)
	info := proto.CloneOf(r.info)
	info.Pid++
	long.SetInfo(info)
	open := 0
	for i := range long.h.Pods() {
		for _, ref := range long.podAt(i).Spans.All {
			if sp := long.h.Span(ref); !sp.Over(long.Events()) {
				open++
			}
		}
	}
	if open != 0 {
		t.Errorf("%d calls of a kubelet that is gone go on", open)
	}
	for _, b := range r.batches[:50] {
		long.Add(b)
	}
	samePlaces(t, &recording{info: r.info, batches: r.batches}, long, 211)
}

func samePlaces(t *testing.T, r *recording, long *State, step int) {
	t.Helper()
	for at := 60; at < long.Events(); at += step {
		if long.h.EpochAt(at).Start != 0 {
			break
		}
		short := r.upTo(at)
		for _, pod := range []string{"web", "held", "crashloop", "no-image", "missing", "static-node-1"} {
			if !short.SelectPodNamed("default", pod) {
				continue
			}
			long.SelectPodNamed("default", pod)
			long.SeekEvent(at - 1)
			if i := short.pod; !reflect.DeepEqual(short.lives.Now().Pod(i), long.lives.At(at).Pod(i)) {
				t.Fatalf("%s at %d: %+v, was %+v", pod, at, long.lives.At(at).Pod(i), short.lives.Now().Pod(i))
			}
			want, got := seen(short), seen(long)
			if want != got {
				t.Fatalf("%s at %d: %s", pod, at, firstDiff(want, got))
			}
		}
	}
}

// seen returns a screen without the expected steps, and without the selection, because one session follows and the
// other does not.
func seen(s *State) string {
	var b strings.Builder
	for _, l := range strings.Split(dump(s.Screen(allRows)), "\n") {
		switch {
		case strings.HasPrefix(l, "story"), strings.HasPrefix(l, "crumbs"), strings.Contains(l, "· "):
		default:
			b.WriteString(strings.Replace(l, "»", " ", 1) + "\n")
		}
	}
	return b.String()
}

// TestAt: rows show when they began, counted from the beginning of their chapter.
func TestAt(t *testing.T) {
	s := record(t).play(words.English)
	for _, pod := range []string{"web", "held"} {
		s.SelectPodNamed("default", pod)
		var chapter time.Duration
		for _, r := range s.Screen(allRows).Story().Rows {
			if r.Kind == screen.RowChapter {
				chapter = r.Took
			}
			if r.Span != 0 && r.Kind != screen.RowNote && (r.At < -time.Millisecond || r.At > chapter+time.Minute) {
				t.Errorf("%s: %q began at %s of a chapter of %s", pod, r.Label, r.At, chapter)
			}
		}
	}
}
