package words

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"中文":              "中文",
		"a\x1b[2Jb":       `a\x1b[2Jb`,
		"\u202eevil":      `\u202eevil`,
		"two\nlines":      "two lines",
		"zero\u200bwidth": `zero\u200bwidth`,
		"bad\xffbyte":     `bad\xffbyte`,
		"c1\u0085":        `c1\u0085`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestShortID: only an id is cut, for a cut without a sign misleads.
func TestShortID(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for id, want := range map[string]string{
		digits:                                        "0123456789ab",
		"containerd://" + digits:                      "0123456789ab",
		"busybox@sha256:" + digits:                    "0123456789ab",
		"unix:///run/containerd/cri.sock":             "unix:///run/containerd/cri.sock",
		"verify_controller_attached_volume":           "verify_controller_attached_volume",
		"The node had condition: [MemoryPressure]. ":  "The node had condition: [MemoryPressure]. ",
		"docker.io/library/busybox:1.35":              "docker.io/library/busybox:1.35",
		`{"linux":{"memoryLimitInBytes":"67108864"}}`: `{"linux":{"memoryLimitInBytes":"67108864"}}`,
		"69b9328f-ced8-40fa-9f3f-81e489b72a21":        "69b9328f-ced8-40fa-9f3f-81e489b72a21",
		"":                                            "",
	} {
		if got := ShortID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}
