//go:build node

package attach_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// scraped has the values by metric and labels, written as in the text.
type scraped map[string]float64

// scrape gets the metrics as Prometheus does. It returns nil if nobody answers.
func scrape(t *testing.T, address string) scraped {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), labtest.Patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	out := scraped{}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			at := strings.LastIndexByte(line, ' ')
			if out[line[:at]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return out
}

// histogram checks that the buckets of a method's histogram add up, and returns its number of calls.
func (s scraped) histogram(t *testing.T, name, method string) float64 {
	t.Helper()
	count := s[fmt.Sprintf(`%s_count{method=%q}`, name, method)]
	if last := s[fmt.Sprintf(`%s_bucket{method=%q,le="+Inf"}`, name, method)]; last != count {
		t.Errorf("%s of %s counts %v, and its last bucket has %v", name, method, count, last)
	}
	for at, n := range s {
		if strings.HasPrefix(at, fmt.Sprintf(`%s_bucket{method=%q,`, name, method)) && n > count {
			t.Errorf("%s is %v, of %v", at, n, count)
		}
	}
	if sum := s[fmt.Sprintf(`%s_sum{method=%q}`, name, method)]; count > 0 && sum <= 0 {
		t.Errorf("%s of %s took %v for %v calls", name, method, sum, count)
	}
	return count
}

// TestMetrics: the metrics show the calls that were made, what they took, a hold, and that a relay process was
// killed.
func TestMetrics(t *testing.T) {
	const started = `podstep_calls_total{code="OK",method="StartContainer"}`
	l, address := shared.For(t), "127.0.0.1:"+labtest.FreePort(t)
	a := attach(t, l, "--metrics", address)
	c := labtest.StartChurn(t, l, "metrics", others)
	c.Until(t, others)
	var now scraped
	labtest.Eventually(t, "counted: the containers that were started", func() bool {
		now = scrape(t, address)
		return now[started] >= others
	})
	for _, method := range []string{"StartContainer", "RunPodSandbox", "ListPodSandbox", "Version"} {
		direct, added := now.histogram(t, "podstep_call_direct_seconds", method), now.histogram(t, "podstep_call_added_seconds", method)
		if direct != added || method != "Version" && direct == 0 {
			t.Errorf("%s was measured %v times, and what was added %v times", method, direct, added)
		}
	}
	if now["podstep_heartbeat_seconds_count"] == 0 || now[`podstep_probe_state{probe="cri",state="running"}`] != 1 || now["podstep_relay_restarts_total"] != 0 {
		t.Errorf("heartbeats, probes or restarts: %v", now)
	}

	kill(t, a.Relays()[0])
	labtest.Eventually(t, "counted: a relay process that was started again, its calls and its guard's", func() bool {
		after := scrape(t, address)
		return after["podstep_relay_restarts_total"] == 1 && after[started] > now[started] &&
			after["podstep_heartbeat_last_success_timestamp_seconds"] > now["podstep_heartbeat_last_success_timestamp_seconds"]
	})
	c.Check(t)

	l.Must("break", "add", "default/*", "--step", "cri.StartContainer", "--times", "1")
	c = labtest.StartChurn(t, l, "metricshold", 1)
	labtest.Eventually(t, "held: a pod", func() bool {
		now = scrape(t, address)
		return now["podstep_holds"] == 1 && now["podstep_holds_total"] == 1 && now["podstep_held_seconds_total"] > 0
	})
	l.Must("continue", "--all")
	labtest.Eventually(t, "let go: the pod", func() bool { return scrape(t, address)["podstep_holds"] == 0 })
	c.Check(t)
	a.End(syscall.SIGINT)
	a.left()
	if scrape(t, address) != nil {
		t.Error("metrics are served when podstep has ended")
	}
}
