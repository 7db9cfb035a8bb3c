package main

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

func TestPageIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	writePage(w, probes.MustLoad(), table)
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
