//go:build bench

package tui_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/tuitest"
)

// Measurements of the screen in a terminal, on a sim lab with many pods: the kubelet's own code, and all else that a
// person would have there.

// crowded is a sim lab of at most n pods, with a screen.
type crowded struct {
	t     *testing.T
	lab   *labtest.Lab
	agent *client.Client
	pid   int // of podstep
	*tuitest.Terminal
	// quiet has the times that keys took before there was a pod.
	quiet []time.Duration
}

func openCrowded(t *testing.T, n int) *crowded {
	t.Helper()
	labtest.Patience = 5 * time.Minute
	l := labtest.StartSim(t, "--max-pods", strconv.Itoa(n))
	env := []string{"LANG=C.UTF-8", "LC_ALL=", "XDG_STATE_HOME=/proc/none", "XDG_CONFIG_HOME=/proc/none"}
	c := &crowded{t: t, lab: l, agent: l.Agent(), Terminal: tuitest.Start(t, 120, 36, env, "exec", labtest.Bin(t, "podstep"), "--socket", l.State.Agent)}
	c.Until(" live ")
	c.Escape("A first walk?")
	pid, err := strconv.Atoi(strings.TrimPrefix(c.Flags("pane_pid"), "pane_pid="))
	if err != nil {
		t.Fatal(err)
	}
	c.pid = pid
	for range 50 {
		c.quiet = append(c.quiet, c.key())
	}
	slices.Sort(c.quiet)
	return c
}

// key returns how long it takes until a key's frame is in the terminal. It looks every 20 ms.
func (c *crowded) key() time.Duration {
	c.t.Helper()
	const page = "One row up"
	began := time.Now()
	c.Press("?")
	c.Until(page)
	took := time.Since(began)
	c.Press("Escape")
	c.UntilGone(page)
	return took
}

// create makes the pods, many at a time.
func (c *crowded) create(n int, pod func(name string) *corev1.Pod) {
	c.t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("web-%d", i))
	}
	ctx := c.lab.Context()
	for some := range slices.Chunk(names, 20) {
		if _, err := marks.Each(ctx, some, strings.Clone, func(ctx context.Context, name string) (*corev1.Pod, error) {
			return c.lab.Client.CoreV1().Pods("default").Create(ctx, pod(name), metav1.CreateOptions{})
		}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// all returns a function that reports whether n pods meet a condition.
func (c *crowded) all(n int, is func(*corev1.Pod) bool) func() bool {
	return func() bool {
		c.t.Helper()
		pods, err := c.lab.Client.CoreV1().Pods("default").List(c.lab.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			c.t.Fatal(err)
		}
		so := 0
		for i := range pods.Items {
			if is(&pods.Items[i]) {
				so++
			}
		}
		return so >= n
	}
}

// until presses keys until done returns true, which it calls every second. It prints what that cost.
func (c *crowded) until(what string, done func() bool) {
	c.t.Helper()
	before, cpu, began := c.stats(), labtest.CPUTime(c.t, c.pid), time.Now()
	var keys []time.Duration
	ask := time.NewTicker(time.Second)
	defer ask.Stop()
	for over := false; !over; {
		keys = append(keys, c.key())
		select {
		case <-ask.C:
			over = done()
		default:
		}
	}
	took, after := time.Since(began), c.stats()
	slices.Sort(keys)
	dropped := uint64(0)
	for _, n := range after.Dropped {
		dropped += n
	}
	quantile := func(d []time.Duration, part float64) time.Duration { return d[int(part*float64(len(d)-1))] }
	fmt.Printf("%s: %v, %.0f events/s, %d dropped; podstep %.1f%% of one core; key to frame median %v, 95th percentile %v, with no pod %v, %v; ratio %.2f, %.2f\n",
		what, took.Round(100*time.Millisecond), float64(after.Events-before.Events)/took.Seconds(), dropped,
		100*float64(labtest.CPUTime(c.t, c.pid)-cpu)/float64(took),
		quantile(keys, 0.5).Round(time.Millisecond), quantile(keys, 0.95).Round(time.Millisecond), quantile(c.quiet, 0.5).Round(time.Millisecond), quantile(c.quiet, 0.95).Round(time.Millisecond),
		float64(quantile(keys, 0.5))/float64(quantile(c.quiet, 0.5)), float64(quantile(keys, 0.95))/float64(quantile(c.quiet, 0.95)))
	if shown := strings.Contains(c.Screen(), " lost"); shown != (dropped > 0) {
		c.t.Errorf("%d events were dropped, which the screen shows: %v:\n%s", dropped, shown, c.Screen())
	}
}

func (c *crowded) stats() *agentpb.StatsResponse {
	c.t.Helper()
	s, err := c.agent.Stats(c.lab.Context(), &agentpb.StatsRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// choose selects a pod by its name.
func (c *crowded) choose(pod string) {
	c.t.Helper()
	c.Press(":")
	c.Type(pod)
	c.Press("Enter")
	c.Until("› default/" + pod + " ")
}

// TestBenchRestarts makes 110 pods, as many as a kubelet takes, crash and start again together. The selection stays,
// and the pods that fail come first.
func TestBenchRestarts(t *testing.T) {
	const pods, restarts = 110, 3
	c := openCrowded(t, pods)
	c.create(pods, func(name string) *corev1.Pod {
		p := labtest.TinyPod(name)
		p.Annotations = map[string]string{"sim.podstep.dev/exit": "1", "sim.podstep.dev/exit-after": "3s"}
		return p
	})
	c.Until(strconv.Itoa(pods) + " pods")
	c.choose("web-57")
	c.until("110 pods crash and start again three times", c.all(pods, func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses
		return len(s) > 0 && s[0].RestartCount >= restarts
	}))
	screen := c.Until(fmt.Sprintf("%d retrying", pods))
	if !strings.Contains(screen, "› default/web-57 ") {
		t.Errorf("another pod was selected:\n%s", screen)
	}
	c.Press("g")
	c.UntilThat("a failing pod at the top", func(screen string) bool {
		return strings.Contains(screen, "▌↻ web-") || strings.Contains(screen, "▌! web-")
	})
}

// TestBenchHeld creates 500 pods, of which 50 are held at their first sync.
func TestBenchHeld(t *testing.T) {
	const pods, held = 500, 50
	c := openCrowded(t, pods)
	c.lab.Must("break", "add", "default/*", "--step", "sync.pod", "--times", strconv.Itoa(held))
	c.create(pods, labtest.TinyPod)
	c.Until(fmt.Sprintf("%d held", held))
	c.until("500 pods are created, 50 of them held", c.all(pods-held, labtest.Ready))
	c.Until(fmt.Sprintf("%d pods", pods))
	quiet := time.Now().Add(10 * time.Second)
	c.until("500 pods are there, 50 of them held", func() bool { return time.Now().After(quiet) })
	c.Press("R")
	c.UntilGone("HELD")
	c.until("50 pods go on together", c.all(pods, labtest.Ready))
}
