package attach

import (
	"math/rand/v2"
	"testing"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/uprobe"
)

// TestMeetings: the halves of stops meet in the order of the stops, whichever half comes first, also if a goroutine
// comes to the same place again before the first stop has met.
func TestMeetings(t *testing.T) {
	at := func(place uint64, when clock.Time) uprobe.Stop {
		return uprobe.Stop{TID: 1, Place: place, Goroutine: 7, At: when}
	}
	var ms meetings
	first, second := ms.report(at(2, 11)), ms.report(at(2, 21))
	if first == second {
		t.Fatal("two stops of a goroutine at one place are one meeting")
	}
	if m := ms.see(at(3, 10)); m == first || m == second {
		t.Error("a stop at another place meets one of these")
	}
	if ms.see(at(2, 10)) != first || ms.see(at(2, 20)) != second {
		t.Error("the stops do not meet in their order")
	}
	third := ms.see(at(2, 30))
	if third == first || third == second {
		t.Error("a meeting that is over is met again")
	}
	if ms.giveUp(at(2, 10), first) {
		t.Error("a meeting whose halves have both come is given up")
	}
	if !ms.giveUp(at(2, 30), third) || ms.report(at(2, 31)) == third {
		t.Error("a meeting that was given up is met")
	}
	if len(ms.waiting) != 2 {
		t.Errorf("%d stops wait, want the last of each place", len(ms.waiting))
	}
}

// TestMeetingsOfOthers: a report meets the call of another stop in no way: neither of another goroutine on the thread,
// nor an earlier or a later one of the goroutine itself.
func TestMeetingsOfOthers(t *testing.T) {
	stop := uprobe.Stop{TID: 1, Place: 2, Goroutine: 100, At: 1000}
	for name, other := range map[string]uprobe.Stop{
		"another goroutine": {TID: 1, Place: 2, Goroutine: 200, At: 1001},
		"another thread":    {TID: 3, Place: 2, Goroutine: 100, At: 1001},
		"another place":     {TID: 1, Place: 4, Goroutine: 100, At: 1001},
		"before the call":   {TID: 1, Place: 2, Goroutine: 100, At: 999},
	} {
		var seenFirst, reportedFirst meetings
		if m := seenFirst.see(stop); seenFirst.report(other) == m {
			t.Errorf("%s: the report meets a call that was seen", name)
		}
		if m := reportedFirst.report(other); reportedFirst.see(stop) == m {
			t.Errorf("%s: the call meets a report", name)
		}
	}
	var ms meetings
	lost := ms.see(stop)
	later := stop
	later.At = 2000
	held := ms.see(later)
	later.At = 2001
	if m := ms.report(later); m == lost || m != held {
		t.Error("the report meets the call whose signal was lost")
	}
}

// TestMeetingsSweep: whatever is lost, and however late a half comes, a call meets the report of its own stop or none.
// If records are lost, either half may come first. If reports are lost, the records come before them: so they do but
// for some milliseconds.
func TestMeetingsSweep(t *testing.T) {
	for seed := range uint64(2000) {
		for _, lose := range []string{"records", "reports"} {
			sweepMeetings(t, rand.New(rand.NewPCG(seed, 1)), lose)
		}
	}
}

// sweepMeetings makes some goroutines stop now and then. Some halves of one kind are lost. The others come in their
// order.
func sweepMeetings(t *testing.T, r *rand.Rand, lose string) {
	var calls, reports []uprobe.Stop
	for now := clock.Time(10); len(calls)+len(reports) < 50; now += clock.Time(2 + r.IntN(10)) {
		at := uprobe.Stop{TID: r.IntN(2), Place: uint64(r.IntN(2)), Goroutine: uint64(1 + r.IntN(3)), At: now}
		lost := r.IntN(4) == 0
		if !lost || lose != "records" {
			calls = append(calls, at)
		}
		if at.At++; !lost || lose != "reports" {
			reports = append(reports, at)
		}
	}
	var ms meetings
	of, met := map[*meeting]uprobe.Stop{}, 0
	note := func(m *meeting, at uprobe.Stop) {
		first, known := of[m]
		of[m] = at
		if !known {
			return
		}
		met++
		if keyOf(first) != keyOf(at) || first.At-at.At != 1 && at.At-first.At != 1 {
			t.Fatalf("%s are lost: the halves of %+v and %+v meet", lose, first, at)
		}
	}
	for len(calls)+len(reports) > 0 {
		call := len(reports) == 0 || len(calls) > 0 && r.IntN(2) == 0
		if lose == "reports" && len(calls) > 0 && len(reports) > 0 && calls[0].At < reports[0].At {
			call = true
		}
		if call {
			note(ms.see(calls[0]), calls[0])
			calls = calls[1:]
		} else {
			note(ms.report(reports[0]), reports[0])
			reports = reports[1:]
		}
	}
	if met == 0 {
		t.Fatal("no halves meet")
	}
}
