package main

import (
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
)

// TestProven: every cause has a snapshot in which it is found, except the one for pods of which
// no cause is found.
func TestProven(t *testing.T) {
	t.Chdir(root)
	p, err := readProofs(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range causes.All() {
		if p.best(c.ID) == "" && c.ID != "unexplained" {
			t.Errorf("%s is not proven by any snapshot", c.ID)
		}
	}
	for id := range p {
		if causes.Named(id) == nil {
			t.Errorf("there are snapshots of %s, which is no cause", id)
		}
	}
}
