package main

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	if err := writePage(&b); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/inside.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Error("docs/inside.md is out of date: run go generate ./probes/uprobe")
	}
}

// TestDelveGuessesNone: where Delve alone has seen a step in another one, it has taken a wrong call
// for the one that started the goroutine.
func TestDelveGuessesNone(t *testing.T) {
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
