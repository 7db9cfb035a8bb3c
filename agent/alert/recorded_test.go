package alert

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestRecordings replays recordings of a real node, a lab and an attached kubelet.
func TestRecordings(t *testing.T) {
	var got strings.Builder
	for _, file := range []string{"../trace/testdata/node.podstep", "../../tui/state/testdata/lab.podstep", "../../tui/state/testdata/attached.podstep"} {
		info, batches, err := tracetest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"err", "step=cri.RunPodSandbox slow>10s", "step~cri.* running>10s", "step=sync.volumes and running>1m", "state=stuck", "state=retry for 10s",
			"step=cri.CreateContainer kind=exit -err then not step=cri.StartContainer kind=exit -err within 5s", "step=cri.StartContainer then state=running within 10s", "step=sync.pod then err within 2s",
		} {
			a, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s: %s\n", filepath.Base(file), text)
			var begin time.Time
			n := 0
			m := New(a, info, probes.MustLoad(), Options{Lost: func(*probes.Event) {}, Match: func(m *Match) {
				if n++; n <= 5 {
					fmt.Fprintf(&got, "  +%.3fs %s %s\n", m.Time.Sub(begin).Seconds(), m.Pod.NamespacedName(), m.Text())
				}
			}})
			for _, b := range batches {
				if begin.IsZero() {
					first := New(a, info, probes.MustLoad(), Options{Lost: func(*probes.Event) {}, Match: func(*Match) {}})
					first.Add(b)
					begin = time.Unix(0, first.h.Origin())
				}
				m.Add(b)
			}
			if n > 5 {
				fmt.Fprintf(&got, "  %d in all\n", n)
			}
			if m.Dropped() != 0 {
				t.Errorf("%s: %d were dropped", text, m.Dropped())
			}
		}
	}
	const golden = "testdata/recordings.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got.String() {
		t.Errorf("%s differs (%v); go test -update writes it:\n%s", golden, err, &got)
	}
}
