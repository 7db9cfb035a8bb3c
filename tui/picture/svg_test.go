package picture

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

const sample = "\x1b[1;94mpodstep\x1b[m \x1b[32m●\x1b[m live <node>\n" +
	"──┬──\x1b[7m 停住 \x1b[m│ \x1b[38;2;255;0;128mred\x1b[39m \x1b[48;5;236mgrey\x1b[m\n" +
	"\x1b[4munder line\x1b[24m \x1b[2mfaint\x1b[22m ███▌ ok\n" +
	"a line that is too long to fit\nnot shown"

func TestSVG(t *testing.T) {
	got := SVG(sample, 24, 4, Options{Title: "podstep & co"})
	const path = "testdata/sample.svg"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed (go test ./tui/picture -update)", path)
	}
	if strings.Contains(string(got), "not shown") || strings.Contains(string(got), "too long to fit") {
		t.Error("text outside of the picture")
	}
}

// FuzzSVG: whatever the text is, the picture is well-formed.
func FuzzSVG(f *testing.F) {
	f.Add(sample)
	f.Add("\x1b[38;5m\x1b[48;2;1m\x1b[999m\x1b[")
	f.Add("\xff\x00\x1b]0;title\a</text>")
	f.Fuzz(func(t *testing.T, text string) {
		d := xml.NewDecoder(bytes.NewReader(SVG(text, 40, 5, Options{Theme: Light})))
		for {
			if _, err := d.Token(); err != nil {
				if err.Error() != "EOF" {
					t.Fatal(err)
				}
				return
			}
		}
	})
}
