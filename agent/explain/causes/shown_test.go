package causes

import (
	"testing"

	"github.com/podstep/podstep/probes/words"
)

// TestShownOnce: an error that evidence before has shown is not shown again, but what stands before it is.
func TestShownOnce(t *testing.T) {
	const long = `rpc error: code = NotFound desc = failed to resolve reference "docker.io/library/busybox:no-such-tag"`
	f := &Finding{Evidence: []Evidence{
		{Text: words.Same("ErrImagePull: " + long)}, {Text: words.Same(long)}, {Text: words.Same(`Failed to pull image "busybox": ` + long)},
		{Text: words.Same("exit code: 1")}, {Text: words.Same("exit code: 1")}, {Text: words.Same(long + ": again")},
	}}
	for i, want := range []string{"ErrImagePull: " + long, "as above", `Failed to pull image "busybox": as above`, "exit code: 1", "exit code: 1", long + ": again"} {
		if got := f.shown(i, words.English); got != want {
			t.Errorf("%d: %q, not %q", i, got, want)
		}
	}
}
