package relayproc

import (
	"bytes"
	"encoding/gob"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/clock/clocktest"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// TestTimesOfMessages: no message has a time that would change if the wall clock were set.
func TestTimesOfMessages(t *testing.T) {
	if all := clocktest.WallTimes(message{}); len(all) > 0 {
		t.Errorf("these are times of the wall clock: %v", all)
	}
	if all := clocktest.WallTimes(takeover.Heartbeat{}); len(all) > 0 {
		t.Errorf("these are times of the wall clock: %v", all)
	}
	if all := clocktest.WallTimes(struct{ A map[string][]*note }{}); len(all) > 0 {
		t.Errorf("these are times of the wall clock: %v", all)
	}
	if all := clocktest.WallTimes(struct{ A map[string][]*takeover.Note }{}); len(all) != 1 {
		t.Errorf("a time is not found: %v", all)
	}
}

// TestSentTimes: what is sent keeps its distance from what was not, whatever the wall clock shows on arrival.
func TestSentTimes(t *testing.T) {
	now := time.Now()
	began, none := now.Add(-time.Minute), time.Time{}
	var sent bytes.Buffer
	err := gob.NewEncoder(&sent).Encode(message{Begin: &begin{ID: 1, Began: clock.Of(began), Deadline: clock.Of(none)}, Note: newNote(takeover.Note{At: began})})
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := gob.NewDecoder(&sent).Decode(&m); err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{0, time.Hour, -time.Hour} {
		set := clocktest.Set(now, by)
		if d := m.Begin.Began.As(set).Sub(began); d != 0 {
			t.Errorf("with the wall clock set by %v, the call began %v later", by, d)
		}
	}
	if !m.Begin.Deadline.Time().IsZero() {
		t.Errorf("the call has the deadline %v", m.Begin.Deadline.Time())
	}
	if d := m.Note.note().At.Sub(began); d != 0 {
		t.Errorf("the note is %v later", d)
	}
}
