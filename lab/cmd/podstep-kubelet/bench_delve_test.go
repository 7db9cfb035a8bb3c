//go:build bench

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// delvePods is how many pods each measurement creates, one after the other.
const delvePods = 4

// TestBenchDelve measures what a hit costs a kubelet by uprobes, by podstep's Delve and by dlv trace, at the same
// steps. It also measures for how long the two debuggers stop the kubelet during one pod's creation. An unmodified
// kubelet and a woven one are measured for comparison.
func TestBenchDelve(t *testing.T) {
	cs := contenders(t)
	plain, woven := cs[0].lab, cs[1].lab
	fmt.Printf("from the creation of a pod to Running, median of %d: unmodified %v, woven %v\n", delvePods, creations(plain, "plain"), creations(woven, "woven"))

	a := plain.Attach("--probe", "uprobe")
	took := creations(plain, "uprobe")
	each := doctor(t, plain, hitTakes)[0]
	a.End(syscall.SIGINT)
	fmt.Printf("  with uprobes %v; a hit takes %v\n", took, each)

	a = plain.Attach("--probe", "cri,delve,api", "--risk-the-kubelet")
	steps := delveSymbols(t, plain)
	before := doctor(t, plain, stoodIn)
	ours := watchStops(t, plain, "podstep")
	after := doctor(t, plain, stoodIn)
	a.End(syscall.SIGINT)
	ours.hits = int(after[1] - before[1])

	trace := startTrace(t, plain, steps)
	theirs := watchStops(t, plain, "dlv")
	theirs.hits = trace.end(t, plain)
	for _, w := range []struct {
		name string
		stops
	}{{"podstep's Delve", ours}, {"dlv trace of the same functions", theirs}} {
		fmt.Printf("  with %s %v: the kubelet stands still for %v in %d hits a pod, %v each\n",
			w.name, w.took, (w.stood / delvePods).Round(time.Millisecond), w.hits/delvePods, w.each().Round(time.Microsecond))
	}
	fmt.Printf("a hit, dlv trace = 1: podstep's Delve %.3f, a uprobe %.4f; %d functions\n",
		float64(ours.each())/float64(theirs.each()), float64(each)/float64(theirs.each()), len(steps))
	if hook, err := strconv.ParseFloat(os.Getenv("HOOK_NS"), 64); err == nil { // make bench has measured it in this run
		fmt.Printf("  the woven hook, a call's entry and exit %.6f\n", hook/float64(theirs.each()))
	}
}

// creations returns the median time that a pod takes to run.
func creations(l *labtest.Lab, name string) time.Duration {
	var all []time.Duration
	for i := range delvePods {
		pod := fmt.Sprintf("%s-%d", name, i)
		began := time.Now()
		l.Create(benchPod(pod))
		l.UntilReady(pod)
		all = append(all, time.Since(began))
	}
	return median(all).Round(time.Millisecond)
}

var (
	hitTakes = regexp.MustCompile(`hits a second, (\S+) each`)
	stoodIn  = regexp.MustCompile(`stood still for (\S+) in (\d+) stops`)
)

// doctor returns the durations and numbers in what podstep doctor prints, by the groups of an expression.
func doctor(t *testing.T, l *labtest.Lab, at *regexp.Regexp) (out []time.Duration) {
	t.Helper()
	labtest.Eventually(t, fmt.Sprintf("podstep doctor has %s", at), func() bool {
		text, _, _ := l.Podstep("doctor")
		m := at.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		for _, group := range m[1:] {
			d, err := time.ParseDuration(group)
			if err != nil {
				d, err = time.ParseDuration(group + "ns")
			}
			if err != nil {
				t.Fatalf("podstep doctor: %v", err)
			}
			out = append(out, d)
		}
		return true
	})
	return out
}

// delveSymbols returns the functions of the steps that Delve sees.
func delveSymbols(t *testing.T, l *labtest.Lab) (out []string) {
	t.Helper()
	c := probes.MustLoad()
	for name, sees := range l.SeenBy("delve") {
		if step := c.Step(name); sees && !slices.Contains(out, step.Symbol) {
			out = append(out, step.Symbol)
		}
	}
	return out
}

// stops states how often a debugger stopped the kubelet, and for how long in all.
type stops struct {
	took, stood time.Duration // took: a pod's creation; stood: all pods'
	hits        int
}

func (s stops) each() time.Duration { return s.stood / time.Duration(max(s.hits, 1)) }

// lookEvery is how often watchStops looks whether the kubelet is stopped.
const lookEvery = 200 * time.Microsecond

// watchStops creates pods, and measures meanwhile for how long a tracer stops the kubelet. It looks at the first
// thread: a tracer stops all threads.
func watchStops(t *testing.T, l *labtest.Lab, name string) (s stops) {
	t.Helper()
	file := fmt.Sprintf("/proc/%d/stat", l.KubeletPID())
	done, stood := make(chan bool), make(chan time.Duration)
	go func() {
		var all time.Duration
		for last, stopped := time.Now(), false; ; {
			select {
			case <-done:
				stood <- all
				return
			case <-time.After(lookEvery):
			}
			now := time.Now()
			if stopped {
				all += now.Sub(last)
			}
			last, stopped = now, isStopped(file)
		}
	}()
	s.took = creations(l, name)
	done <- true
	s.stood = <-stood
	return s
}

// isStopped reports whether a process is stopped by its tracer, according to its stat file.
func isStopped(file string) bool {
	text, _ := os.ReadFile(file)
	i := bytes.LastIndex(text, []byte(") "))
	return i >= 0 && bytes.HasPrefix(text[i+2:], []byte("t"))
}

// dlvTrace is a dlv trace command that traces the kubelet.
type dlvTrace struct {
	cmd    *exec.Cmd
	out    string // the file of its output
	before int    // hits when it began
}

// startTrace makes dlv trace functions of the kubelet, and returns when it traces them.
func startTrace(t *testing.T, l *labtest.Lab, symbols []string) *dlvTrace {
	t.Helper()
	var quoted []string
	for _, s := range symbols {
		quoted = append(quoted, regexp.QuoteMeta(s))
	}
	d := &dlvTrace{out: t.TempDir() + "/out"}
	out, err := os.Create(d.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	d.cmd = exec.Command(labtest.Bin(t, "dlv"), "trace", "--allow-non-terminal-interactive", "--pid", fmt.Sprint(l.KubeletPID()), "^("+strings.Join(quoted, "|")+")$")
	d.cmd.Stdout, d.cmd.Stderr = out, out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	labtest.Eventually(t, "dlv traces the kubelet", func() bool { return d.hits(t) > 0 })
	d.before = d.hits(t)
	return d
}

// hits returns the number of calls and returns that the trace has printed.
func (d *dlvTrace) hits(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile(d.out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "> ") || strings.HasPrefix(line, ">> ") {
			n++
		}
	}
	return n
}

// end ends the trace, and the lab with it, and returns the trace's hits. dlv obeys one SIGINT, but overlooks it while
// it goes on from a breakpoint. The end of the kubelet ends it for sure.
func (d *dlvTrace) end(t *testing.T, l *labtest.Lab) int {
	t.Helper()
	hits := d.hits(t) - d.before
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	return hits
}
