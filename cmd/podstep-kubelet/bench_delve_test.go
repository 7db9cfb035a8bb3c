//go:build bench

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/probes"
)

// delvePods is how many pods are created each way, one after the other.
const delvePods = 4

// TestBenchDelve measures what a hit costs a kubelet through Delve, and through dlv trace at the
// same functions, and how long it stands still for one pod's creation; next to an unmodified
// kubelet and a woven one.
func TestBenchDelve(t *testing.T) {
	cs := contenders(t)
	plain, woven := cs[0].lab, cs[1].lab
	fmt.Printf("from the creation of a pod to Running, %d pods: unmodified %v, woven %v\n", delvePods, creations(plain, "plain"), creations(woven, "woven"))
	a := plain.Attach("--probe", "cri,delve,api", "--risk-the-kubelet")
	before := standstill(t, plain)
	took := creations(plain, "delve")
	after := standstill(t, plain)
	hits, stood := after.stops-before.stops, after.stood-before.stood
	fmt.Printf("  with podstep's Delve %v: the kubelet stands still for %v in %d stops a pod, %v each\n",
		took, stood/delvePods, hits/delvePods, stood/time.Duration(max(hits, 1)))
	a.End(syscall.SIGINT)
	fmt.Printf("  with dlv trace %s\n", traced(t, plain))
}

// creations is the median time that a pod takes to run.
func creations(l *labtest.Lab, name string) time.Duration {
	var all []time.Duration
	for i := range delvePods {
		pod := fmt.Sprintf("%s-%d", name, i)
		began := time.Now()
		l.Create(benchPod(pod))
		l.UntilReady(pod)
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}

type stillness struct {
	stood time.Duration
	stops int
}

var standsStill = regexp.MustCompile(`stood still for (\S+) in (\d+) stops`)

// standstill is how long the kubelet has stood still, as podstep doctor prints it.
func standstill(t *testing.T, l *labtest.Lab) (s stillness) {
	t.Helper()
	labtest.Eventually(t, "podstep reports how long the kubelet stood still", func() bool {
		out, _, _ := l.Podstep("doctor")
		m := standsStill.FindStringSubmatch(out)
		if m == nil {
			return false
		}
		s.stood, _ = time.ParseDuration(m[1])
		_, err := fmt.Sscan(m[2], &s.stops)
		return err == nil
	})
	return s
}

// traced has dlv trace the functions of the steps of tier 1.
func traced(t *testing.T, l *labtest.Lab) string {
	t.Helper()
	dir := t.TempDir()
	install := exec.Command("go", "install", "github.com/go-delve/delve/cmd/dlv@"+delveVersion(t))
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("build dlv: %v: %s", err, out)
	}
	var functions []string
	c := probes.MustLoad()
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Tier == 1 && !s.Outside() && s.Closure == "" {
			functions = append(functions, regexp.QuoteMeta(s.Symbol))
		}
	}
	cmd := exec.Command(filepath.Join(dir, "dlv"), "trace", "-p", fmt.Sprint(l.KubeletPID()), "^("+strings.Join(functions, "|")+")$")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hits := func() int {
		text, _ := os.ReadFile(log.Name())
		return strings.Count(string(text), "goroutine(")
	}
	labtest.Eventually(t, "dlv traces", func() bool { return hits() > 0 })
	before := hits()
	took := creations(l, "traced")
	n := (hits() - before) / delvePods
	_ = cmd.Process.Signal(syscall.SIGINT) // it detaches
	_ = cmd.Wait()
	return fmt.Sprintf("%v, with %d hits a pod", took, n)
}

// delveVersion is the version of Delve that podstep has.
func delveVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/go-delve/delve").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
