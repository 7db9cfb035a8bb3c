package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/probes"
)

// TestRetryWoven: an agent in the kubelet is asked, and no API server.
func TestRetryWoven(t *testing.T) {
	agent, socket := newFakeAgent(), filepath.Join(t.TempDir(), "a")
	agent.About.Retries = true
	agenttest.Serve(t, agent, socket)
	code, out, errs := runAgainst(t, socket, "retry", "web", "-o", "json")
	var got retryJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("it ended with %d, %v: %s%s", code, err, out, errs)
	}
	if e := got.Ended; got.By != "kubelet" || got.Sync != 4 || e == nil || e.Kind != "volume" || e.Name != "data, logs" || e.Length != "" {
		t.Errorf("it printed %s", out)
	}
	if _, out, _ = runAgainst(t, socket, "retry", "web"); !strings.Contains(out, "default/web: the kubelet tries again now: the back-off of volume data, logs is ended, in turn 4") {
		t.Errorf("it printed %q", out)
	}
}

// runAgainst runs a command with the agent at a socket.
func runAgainst(t *testing.T, socket string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"podstep", "--socket", socket}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestRetryAttached: with another kubelet the pod's annotation is set and taken off again, after a person has agreed.
func TestRetryAttached(t *testing.T) {
	c := newFakeCluster(t)
	code, _, errs := runPlain(c, "--socket", c.socket, "retry", "web")
	if code != 2 || !strings.Contains(errs, "--yes") || len(c.patches()) > 0 {
		t.Fatalf("without --yes it ended with %d: %s; it sent %q", code, errs, c.patches())
	}
	code, out, errs := runPlain(c, "--socket", c.socket, "retry", "web", "--yes")
	sent := c.patches()
	if code != 0 || !strings.Contains(out, "default/web: the kubelet was made to sync it; a back-off goes on") || len(sent) != 2 {
		t.Fatalf("it ended with %d: %s%s; it sent %q", code, out, errs, sent)
	}
	for i, body := range sent {
		var p struct {
			Metadata struct {
				UID         string
				Annotations map[string]*string
			}
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		value, named := p.Metadata.Annotations[retryAnnotation]
		if p.Metadata.UID != "u-web" || !named || (value == nil) != (i == 1) {
			t.Errorf("patch %d is %s", i, body)
		}
	}
}

// patches returns the bodies of the changes of the pod default/web.
func (c *fakeCluster) patches() (out []string) {
	for _, r := range c.api.Requests() {
		if r.Method == http.MethodPatch {
			out = append(out, r.Body)
		}
	}
	return out
}

// TestAnnotateEnds: an annotation that was set is taken off even if the person gives up. If it stays, podstep says how to take
// it off.
func TestAnnotateEnds(t *testing.T) {
	pod := &probes.Pod{Namespace: "shop", Name: "db-0", UID: "u-db"}
	for _, c := range []struct {
		codes []int
		want  string
	}{
		{[]int{403}, "pod shop/db-0 was not changed"},
		{[]int{200, 200}, ""},
		{[]int{200, 404}, ""}, // it is gone
		{[]int{200, 500}, "kubectl annotate pod db-0 -n shop podstep.dev/retry-"},
	} {
		ctx, giveUp := context.WithCancel(t.Context())
		n := 0
		api := apitest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n > len(c.codes) || r.Header.Get("Content-Type") != "application/merge-patch+json" {
				t.Errorf("request %d: %s %s", n, r.Method, r.URL)
				return
			}
			if n == 2 {
				giveUp()
			}
			apitest.Answer(w, c.codes[n-1], struct{}{})
		}))
		err := annotate(ctx, api.Client(t), pod, time.Unix(0, 0))
		giveUp()
		if n != len(c.codes) || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("of answers %v it sent %d requests; the error is %v, want %q", c.codes, n, err, c.want)
		}
	}
}
