package alerting

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/scrape"
)

// scraped returns the lines of a metric, as Prometheus reads them.
func scraped(t *testing.T, m *Metrics, name string) (lines []string) {
	t.Helper()
	s, err := scrape.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(m)
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	r, err := http.Get("http://" + s.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", r.Status, err, text)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestMetrics: matches count by node and pod, also those of the node's own events, and the sum is there before the first.
func TestMetrics(t *testing.T) {
	m := NewMetrics("err")
	check := func(name string, want ...string) {
		t.Helper()
		if got := scraped(t, m, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	check("podstep_alert_matches_total", "podstep_alert_matches_total 0")
	check("podstep_alert_info", `podstep_alert_info{alert="err"} 1`)
	of := match("no such image")
	m.Count("", of)
	m.Count("", of)
	m.Count("node-1", of)
	m.Count("node-1", &alert.Match{Alert: "err", Time: of.Time})
	check("podstep_alert_matches_total", "podstep_alert_matches_total 4")
	check("podstep_alert_pod_matches_total",
		`podstep_alert_pod_matches_total{namespace="",node="node-1",pod=""} 1`,
		`podstep_alert_pod_matches_total{namespace="shop",node="",pod="web"} 2`,
		`podstep_alert_pod_matches_total{namespace="shop",node="node-1",pod="web"} 1`)
	check("podstep_alert_pod_last_match_timestamp_seconds",
		`podstep_alert_pod_last_match_timestamp_seconds{namespace="",node="node-1",pod=""} 1.8e+09`,
		`podstep_alert_pod_last_match_timestamp_seconds{namespace="shop",node="",pod="web"} 1.8e+09`,
		`podstep_alert_pod_last_match_timestamp_seconds{namespace="shop",node="node-1",pod="web"} 1.8e+09`)
}

// TestMetricsAreBounded: a cluster in which pods come and go does not make the metrics grow without end.
func TestMetricsAreBounded(t *testing.T) {
	m := NewMetrics("err")
	for i := range 2 * maxCounted {
		of := match("x")
		of.Pod.Name = fmt.Sprint("web-", i)
		m.Count("", of)
	}
	if n := len(scraped(t, m, "podstep_alert_pod_matches_total")); n != maxCounted {
		t.Errorf("%d pods have a count of their own, want %d", n, maxCounted)
	}
	if m.all != 2*maxCounted {
		t.Errorf("the sum is %d, want %d", m.all, 2*maxCounted)
	}
}

// TestMetricsDocumented: docs/alert.md lists each metric.
func TestMetricsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/alert.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"podstep_alert_info", "podstep_alert_matches_total", "podstep_alert_pod_matches_total", "podstep_alert_pod_last_match_timestamp_seconds"} {
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("docs/alert.md has no %s", name)
		}
	}
}
