package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/probes/words"
)

// TestOutputIsPrintable: no form of output has a character that a terminal acts on or that nobody sees, whatever a pod is
// called; a script gets the text as it was.
func TestOutputIsPrintable(t *testing.T) {
	type row struct {
		Name string   `json:"name"`
		All  []string `json:"all"`
	}
	for _, odd := range []string{"\u202e", "\u2066", "\u200b", "\u00ad", "\ufeff", "\u2028", "\u0085", "\U000e0001", "\x1b[2J", "\u00a0"} {
		in := row{"web " + odd + "end", []string{odd, "x: " + odd + "\nsecond line"}}
		for _, form := range []string{"json", "yaml"} {
			var b strings.Builder
			if err := (&format{choice{value: form}}).print(&b, in, nil); err != nil {
				t.Fatal(err)
			}
			if !words.Printable([]byte(b.String())) {
				t.Errorf("-o %s leaves %q in %q", form, odd, b.String())
			}
			var out row
			if err := yaml.Unmarshal([]byte(b.String()), &out); form == "yaml" && (err != nil || out.Name != in.Name || out.All[0] != odd || out.All[1] != in.All[1]) {
				t.Errorf("-o %s of %q is read as %+q, %v: %s", form, odd, out, err, b.String())
			}
		}
	}
}
