package main

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"github.com/podstep/podstep/probes"
)

func TestPageIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	writePage(w, probes.MustLoad())
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, b.Bytes()) {
		t.Error("docs/steps.md is out of date: run make generate")
	}
}
