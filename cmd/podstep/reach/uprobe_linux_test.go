package reach

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/uprobe"
)

// TestTriedKernel: what the kernel does is one line; each thing that it does not do has its own, with what follows.
func TestTriedKernel(t *testing.T) {
	for _, x := range []struct {
		name   string
		kernel *uprobe.Kernel
		status string
		text   string
	}{
		{"not tried", nil, "", ""},
		{"all", &uprobe.Kernel{}, "ok", "takes the eBPF program"},
		{"no link for all places", &uprobe.Kernel{OneLink: errors.New("0 of 1000 calls")}, "ok warn", "0 of 1000 calls: each place has a link of its own"},
		{"no program", &uprobe.Kernel{Program: errors.New("operation not permitted")}, "warn warn warn warn warn warn", "operation not permitted: podstep sees nothing"},
	} {
		var status, text []string
		for _, c := range triedKernel(x.kernel) {
			status = append(status, c.Status)
			text = append(text, c.Text.En+": "+c.Todo.En)
		}
		if got := strings.Join(status, " "); got != x.status {
			t.Errorf("%s: the lines are %q", x.name, got)
		}
		if got := strings.Join(text, "\n"); !strings.Contains(got, x.text) {
			t.Errorf("%s: the lines are\n%s", x.name, got)
		}
	}
}
