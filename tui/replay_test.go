package tui

import (
	"errors"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/session"
)

func replaying(t *testing.T, fault error) *desk {
	t.Helper()
	w := newWorld()
	w.file = "x.podstep"
	d := newDesk(t, w, Options{})
	d.deliver(session.News{Info: w.info, Batches: []*agentpb.Batch{w.creation(web), w.creation(web), w.creation(web)}, CaughtUp: true, Fault: fault})
	return d
}

func TestReplayClock(t *testing.T) {
	d := replaying(t, nil)
	d.sees("replay")
	of := d.m.replay.of
	if of <= 0 || d.m.replay.at != of {
		t.Fatalf("a replay begins at %v of %v, want its end", d.m.replay.at, of)
	}
	d.press("home")
	if d.m.replay.at != 0 {
		t.Errorf("Home leads to %v", d.m.replay.at)
	}
	d.press("5")
	if d.m.replay.at != of*5/10 {
		t.Errorf("5 leads to %v of %v", d.m.replay.at, of)
	}
	d.press("W")
	if back := d.m.replay.at; back >= of*5/10 {
		t.Errorf("W leads to %v, and not back", back)
	}
	if d.press("E", "E"); d.m.replay.at <= of*5/10 {
		t.Errorf("E leads to %v, and not forth", d.m.replay.at)
	}
	d.press("end", ",")
	last := d.m.replay.at
	d.press(",")
	if before := d.m.replay.at; before >= last {
		t.Errorf("stepping back leads from %v to %v", last, before)
	}
	d.press(".")
	if d.m.replay.at != last {
		t.Errorf("stepping forth leads to %v, want %v", d.m.replay.at, last)
	}
}

// TestReplayLength: a file is as long as its events, however long ago it was recorded.
func TestReplayLength(t *testing.T) {
	w := newWorld()
	w.file = "x.podstep"
	d := newDesk(t, w, Options{})
	d.now = d.now.Add(24 * time.Hour)
	d.deliver(session.News{Info: w.info, Batches: []*agentpb.Batch{w.creation(web)}, CaughtUp: true})
	if of := d.m.replay.of; of <= 0 || of > time.Minute {
		t.Errorf("the file is %v long", of)
	}
}

func TestReplayPlays(t *testing.T) {
	d := replaying(t, nil)
	d.press("0", "space")
	if !d.m.replay.playing {
		t.Fatal("Space does not play")
	}
	d.now = d.now.Add(50 * time.Millisecond)
	d.send(d.waits[len(d.waits)-1])
	if got := d.m.replay.at; got != 50*time.Millisecond {
		t.Errorf("after 50 ms it is at %v", got)
	}
	d.press("space")
	if d.m.replay.playing {
		t.Error("Space does not stop it")
	}
	d.press(")").sees("×2")
}

// TestReplayFault: a file that is cut short is shown as far as it can be read.
func TestReplayFault(t *testing.T) {
	replaying(t, errors.New("the trace is damaged at byte 7")).sees("damaged at byte 7", "default/web")
}
