package main

import (
	"slices"
	"testing"
)

// TestDelveGuessesNone: if Delve alone sees a step inside another one, it has mistaken some
// other call for the one that started the goroutine.
func TestDelveGuessesNone(t *testing.T) {
	t.Chdir(root)
	all, err := readSeen()
	if err != nil {
		t.Fatal(err)
	}
	others := map[[2]string]bool{}
	for _, s := range all {
		for _, r := range s.rows {
			if slices.ContainsFunc(r.by, func(way string) bool { return way != "delve" }) {
				others[[2]string{r.step, r.parent}] = true
			}
		}
	}
	for _, s := range all {
		for _, r := range s.rows {
			if r.parent != "-" && !others[[2]string{r.step, r.parent}] {
				t.Errorf("%s: %s in %s is seen by %v alone, in all versions", s.version, r.step, r.parent, r.by)
			}
		}
	}
}
