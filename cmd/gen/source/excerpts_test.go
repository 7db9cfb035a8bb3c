package source

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/podstep/podstep/cmd/gen/kubelet"
	"github.com/podstep/podstep/probes/source"
)

// TestUpToDate generates the data anew and compares the uncompressed content: the compression
// may change with the Go release.
func TestUpToDate(t *testing.T) {
	t.Chdir("../../..")
	packed, err := os.ReadFile("probes/source/excerpts.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	was, err := source.Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	is, sums, err := generate(kubelet.Module)
	if err != nil {
		t.Fatal(err)
	}
	for name := range was.Steps {
		if _, ok := is.Steps[name]; !ok {
			t.Errorf("there is no step %s any more", name)
		}
	}
	for name, e := range is.Steps {
		if text(t, e) != text(t, was.Steps[name]) {
			t.Errorf("the source of %s is out of date", name)
		}
	}
	if was, err := os.ReadFile("probes/catalogue/functions.sum"); err != nil || !bytes.Equal(was, sums) {
		t.Errorf("the sums of the steps' functions are out of date (%v)", err)
	}
	if t.Failed() {
		t.Error("run go generate ./probes/source")
	}
}

func text(t *testing.T, e source.Entry) string {
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
