package attach

import (
	"testing"

	"github.com/podstep/podstep/probes/uprobe"
)

// TestMeetings: the halves of stops meet in the order of the stops, whichever comes first,
// also where a thread comes to the same place again before the first stop was looked at.
func TestMeetings(t *testing.T) {
	at, other := uprobe.Stop{TID: 1, Place: 2}, uprobe.Stop{TID: 1, Place: 3}
	var ms meetings
	first, second := ms.report(at), ms.report(at)
	if first == second {
		t.Fatal("two stops of a thread at one place are one meeting")
	}
	if m := ms.see(other); m == first || m == second {
		t.Error("a stop at another place meets one of these")
	}
	if ms.see(at) != first || ms.see(at) != second {
		t.Error("the stops do not meet in their order")
	}
	third := ms.see(at)
	if third == first || third == second {
		t.Error("a meeting that is over is met again")
	}
	if ms.giveUp(at, first) {
		t.Error("a meeting whose halves have both come is given up")
	}
	if !ms.giveUp(at, third) || ms.report(at) == third {
		t.Error("a meeting that was given up is met")
	}
	if len(ms.waiting) != 2 {
		t.Errorf("%d stops wait, want the last of each place", len(ms.waiting))
	}
}
