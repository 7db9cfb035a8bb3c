package gather

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestMaybeQueued: a pod waits for another's pull only until the runtime has pulled for itself.
func TestMaybeQueued(t *testing.T) {
	at := func(step string, seconds int) evidence.Call {
		return evidence.Call{Step: step, Began: time.Unix(int64(seconds), 0)}
	}
	waits, pulls := at(stepPullWait, 10), at(stepPullCall, 11)
	for name, c := range map[string]struct {
		story evidence.Story
		want  bool
	}{
		"its worker waits":                  {evidence.Story{Calls: true, Turns: true, Open: []evidence.Call{waits}}, true},
		"its worker is not seen":            {evidence.Story{Calls: true}, true},
		"its worker does something else":    {evidence.Story{Calls: true, Turns: true}, false},
		"no calls are seen":                 {evidence.Story{Turns: true, Open: []evidence.Call{waits}}, false},
		"it is being pulled for":            {evidence.Story{Calls: true, Turns: true, Open: []evidence.Call{waits, pulls}}, false},
		"its pull has ended":                {evidence.Story{Calls: true, Turns: true, Open: []evidence.Call{waits}, Done: []evidence.Call{pulls}}, false},
		"a pull before has ended":           {evidence.Story{Calls: true, Turns: true, Open: []evidence.Call{waits}, Done: []evidence.Call{at(stepPullCall, 9)}}, true},
		"a pull has ended, nobody can wait": {evidence.Story{Calls: true, Turns: true, Done: []evidence.Call{pulls}}, false},
	} {
		if got := maybeQueued(&c.story); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
