package main

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
)

const recorded = "../causes/testdata/recorded"

func TestPageIsUpToDate(t *testing.T) {
	p, err := readProofs(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	writePage(w, p)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/causes.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, b.Bytes()) {
		t.Error("docs/causes.md is out of date: run make generate")
	}
}

// TestProven: every cause has a snapshot by which it is found, but the one that stands
// for none.
func TestProven(t *testing.T) {
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
