package probes

import "testing"

// TestLost: a drop event describes what was lost, in an order that stays.
func TestLost(t *testing.T) {
	for want, e := range map[string]Event{
		"12 enter, 9 exit":           {Kind: Drop, Fields: map[string]any{"exit": int64(9), "enter": int64(12)}},
		"an event could not be read": {Kind: Drop, Error: "an event could not be read"},
		"":                           {Kind: Drop},
	} {
		if got := e.Lost(); got != want {
			t.Errorf("%v says %q, want %q", e, got, want)
		}
	}
}
