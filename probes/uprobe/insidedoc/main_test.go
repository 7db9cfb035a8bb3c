package main

import (
	"bytes"
	"os"
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
