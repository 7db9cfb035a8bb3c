package metrics

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/scrape"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relayproc"
)

// newAgent makes an agent whose cri probe runs.
func newAgent(t *testing.T) *agent.Agent {
	t.Helper()
	c := probes.MustLoad()
	a, err := agent.New(c, agent.Options{KubeletVersion: "v1.2.3", Probes: []probes.Abilities{cri.Abilities(c)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// scraped gets the metrics as Prometheus does.
func scraped(t *testing.T, s *scrape.Server) string {
	t.Helper()
	r, err := http.Get(fmt.Sprintf("http://%s/metrics", s.Address()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", r.Status, err, text)
	}
	return string(text)
}

// TestScrape: the counts of relay processes, one after the other, add up, and so do the buckets of a histogram.
func TestScrape(t *testing.T) {
	s, err := scrape.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t)
	at := time.Unix(1000, 0)
	beat := time.Now().Truncate(time.Second)
	m := New(Source{Agent: a, Since: at})
	s.Serve(m)
	counts := &relayproc.Counts{Methods: map[string]*relayproc.MethodCounts{"": {}}, Heartbeat: clock.Of(clock.Stated(beat))}
	run := &relayproc.MethodCounts{Direct: relayproc.Histogram{Counts: make([]uint64, len(relayproc.DirectBounds)+1), Sum: time.Second}}
	run.Codes[codes.OK], run.Codes[codes.NotFound], run.Direct.Counts[2], run.Direct.Counts[len(relayproc.DirectBounds)] = 2, 1, 2, 1
	counts.Methods["/runtime.v1.RuntimeService/RunPodSandbox"] = run
	counts.Methods[""].Codes[codes.OK] = 7
	counts.Heartbeats = relayproc.Histogram{Counts: []uint64{1}} // a histogram with another number of bounds
	m.Count(counts)
	m.Count(counts)
	m.Restarted()
	a.Probe("cri").State(agentpb.ProbeState_PROBE_RETRYING, probes.Reason{})
	text := scraped(t, s)
	for _, line := range []string{
		`podstep_calls_total{code="OK",method="RunPodSandbox"} 4`,
		`podstep_calls_total{code="NotFound",method="RunPodSandbox"} 2`,
		`podstep_calls_total{code="OK",method="other"} 14`,
		`podstep_call_direct_seconds_bucket{method="RunPodSandbox",le="0.0005"} 0`,
		`podstep_call_direct_seconds_bucket{method="RunPodSandbox",le="0.001"} 4`,
		`podstep_call_direct_seconds_bucket{method="RunPodSandbox",le="300"} 4`,
		`podstep_call_direct_seconds_bucket{method="RunPodSandbox",le="+Inf"} 6`,
		`podstep_call_direct_seconds_count{method="RunPodSandbox"} 6`,
		`podstep_call_direct_seconds_sum{method="RunPodSandbox"} 2`,
		`podstep_relay_restarts_total 1`,
		`podstep_heartbeat_seconds_count 0`,
		"podstep_heartbeat_last_success_timestamp_seconds " + strconv.FormatFloat(float64(beat.Unix()), 'g', -1, 64),
		`podstep_attached_timestamp_seconds 1000`,
		`podstep_probe_state{probe="cri",state="retrying"} 1`,
		`podstep_probe_state{probe="cri",state="running"} 0`,
		`podstep_events_lost_total{kind="enter"} 0`,
		`podstep_pods{state="stuck"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("it has not %s", line)
		}
	}
	if !strings.Contains(text, `kubelet_version="v1.2.3"`) || !strings.Contains(text, "process_resident_memory_bytes") {
		t.Error("it has not the versions, or this process")
	}
	if t.Failed() {
		t.Log(text)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTable: docs/attach.md lists each metric, and no other.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("../../../docs/attach.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, x := range regexp.MustCompile("(?m)^\\| `(podstep_[a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[x[1]] = true
	}
	name := regexp.MustCompile(`fqName: "([a-z_]+)"`)
	for _, d := range all {
		n := name.FindStringSubmatch(d.String())[1]
		if !documented[n] {
			t.Errorf("docs/attach.md has not %s", n)
		}
		delete(documented, n)
	}
	for n := range documented {
		t.Errorf("docs/attach.md has %s, which there is not", n)
	}
}

// TestDescribed: every value has a description, as a strict registry demands.
func TestDescribed(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := New(Source{Agent: newAgent(t)})
	m.Count(&relayproc.Counts{Methods: map[string]*relayproc.MethodCounts{"": {}}, Heartbeat: clock.Now()})
	r.MustRegister(m)
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
}
