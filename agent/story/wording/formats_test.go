package wording

import (
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestFormats: the formats of the catalogue's notes are those of this package.
func TestFormats(t *testing.T) {
	for _, f := range probes.Formats {
		if formats[f.Format] == nil {
			t.Errorf("nobody writes the format %q", f.Format)
		}
	}
	if len(formats) != len(probes.Formats) {
		t.Errorf("%d formats are written, the catalogue knows %d", len(formats), len(probes.Formats))
	}
}
