package logged

import (
	"os"
	"testing"

	"github.com/podstep/podstep/cmd/gen/kubelet"
)

// TestLinesAreWritten checks each line of the catalogue against the source of the kubelet that the catalogue was read
// from: a function logs this message, at this verbosity, with these values. PODSTEP_KUBERNETES names the source of
// another kubelet; of that the differences are printed.
func TestLinesAreWritten(t *testing.T) {
	t.Chdir("../../..")
	dir, other := os.LookupEnv("PODSTEP_KUBERNETES")
	if !other {
		var err error
		if dir, err = Source(kubelet.Module); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 1000 {
		t.Errorf("only %d calls were found", len(all))
	}
	for _, p := range Check(all) {
		if other {
			t.Logf("%s: %q: %s", p.Step, p.Message, p.What)
			continue
		}
		t.Errorf("%s: %q: %s", p.Step, p.Message, p.What)
	}
}
