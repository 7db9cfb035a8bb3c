package labtest

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labstate"
)

// Run makes the canaries' pods come, fail in every way, and go. It checks that neither the agent of l nor any podstep
// command shows a secret of theirs. reasons has, for each pod, the reasons of events that the kubelet must make
// meanwhile: they prove that what could reveal a secret has happened.
func (c *Canaries) Run(tb testing.TB, l *Lab, reasons map[string][]string) {
	tb.Helper()
	trace := filepath.Join(tb.TempDir(), "canaries.podstep")
	writer := l.PodstepCmd("trace", "-w", trace, "--node-events", "--quiet")
	var printed strings.Builder
	writer.Stdout, writer.Stderr = &printed, &printed
	if err := writer.Start(); err != nil {
		tb.Fatal(err)
	}
	Eventually(tb, "recording", func() bool { _, err := os.Stat(trace); return err == nil })
	c.CreateAll(tb)
	late := map[string]bool{"FailedPreStopHook": true}
	for pod, all := range reasons {
		c.UntilEvents(tb, pod, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return late[r] }))
	}
	c.exec(tb, l)
	c.commands(tb, l, "")
	c.bundles(tb, l)
	c.assistant(tb, l, trace)
	for _, p := range c.Pods {
		l.Delete(p.Name)
	}
	for _, p := range c.Pods {
		l.UntilGone(p.Name)
	}
	for pod, all := range reasons {
		c.UntilEvents(tb, pod, all)
	}
	if err := writer.Process.Signal(syscall.SIGINT); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Wait(); err != nil {
		tb.Errorf("podstep trace -w ended with %v: %s", err, printed.String())
	}
	c.SilentTrace(tb, trace)
	c.commands(tb, l, trace)
	c.exports(tb, l, trace)
	c.assistant(tb, l, trace)
	c.logs(tb, l)
	events := c.SilentAgent(tb, l)
	tb.Logf("%d events and the trace of them are without any of %d secrets", events, len(c.Names()))
}

// logs checks what podstep makes of the kubelet's log, which has the secrets.
func (c *Canaries) logs(tb testing.TB, l *Lab) {
	tb.Helper()
	file := filepath.Join(l.Dir, "logs", "kubelet.log")
	for _, args := range [][]string{{"replay", file, "-o", "json"}, {"replay", file, "-o", "wide"}, {"why", "--log", file}, {"export", file, "--to", "json"}} {
		out, errors, _ := l.Podstep(args...)
		c.report(tb, "podstep "+strings.Join(args, " "), c.FindString(out+errors))
		if out == "" {
			tb.Errorf("podstep %s says nothing at all: %s", strings.Join(args, " "), errors)
		}
	}
}

// bundles checks each file of the bundle of each pod.
func (c *Canaries) bundles(tb testing.TB, l *Lab) {
	tb.Helper()
	for _, p := range c.Pods {
		path := filepath.Join(tb.TempDir(), "bundle.tar.gz")
		if out, text, _ := l.Podstep("why", "pod/"+p.Name, "-n", p.Namespace, "--bundle", path); !strings.Contains(text, "has the evidence") {
			tb.Errorf("podstep why --bundle of %s: %s%s", p.Name, out, text)
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			tb.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			tb.Fatal(err)
		}
		f.Close()
		c.report(tb, "the bundle of "+p.Name, c.FindString(string(text)))
		hasLog := strings.Contains(string(text), "podstep-bundle/kubelet.log") // a simulated node has no process of that name
		if hasLog != (l.State.Runtime != labstate.Sim) || !strings.Contains(string(text), "podstep-bundle/story.podstep") {
			tb.Errorf("the bundle of %s has a log: %v, or it has no story", p.Name, hasLog)
		}
		out, _, _ := l.Podstep("why", "--bundle", path)
		c.report(tb, "podstep why --bundle", c.FindString(out))
		c.report(tb, "podstep replay of a bundle", c.FindString(l.Must("replay", path, "-o", "json")))
	}
}

// exports checks the output of commands for a trace: each form of export, and comparisons of each pod with the
// next one, part by part.
func (c *Canaries) exports(tb testing.TB, l *Lab, trace string) {
	tb.Helper()
	for _, form := range []string{"perfetto", "otlp", "json", "folded"} { // pprof is compressed, and has the stacks of folded
		out := l.Must("export", trace, "--to", form)
		c.Silent(tb, "podstep export --to "+form, out)
		for _, p := range c.Pods {
			if !strings.Contains(out, p.Name) {
				tb.Errorf("podstep export --to %s has nothing of %s", form, p.Name)
			}
		}
	}
	for i, p := range c.Pods {
		next := c.Pods[(i+1)%len(c.Pods)]
		for _, part := range []string{"creation", "termination", "all"} {
			for _, more := range [][]string{nil, {"-o", "json"}} {
				out, errors, _ := l.Podstep(append([]string{"compare", p.Name, next.Name, "--trace", trace, "--part", part}, more...)...)
				c.Silent(tb, "podstep compare --part "+part, out+errors)
			}
		}
	}
}

// UntilEvents waits until the API server has events about a pod with each reason.
func (c *Canaries) UntilEvents(tb testing.TB, pod string, reasons []string) {
	tb.Helper()
	name := c.Name(pod)
	var has []string
	for _, reason := range reasons {
		Eventually(tb, "printed of "+name+": "+reason, func() bool {
			list, err := c.l.Client.CoreV1().Events("default").List(c.l.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
			if err != nil {
				tb.Fatal(err)
			}
			has = nil
			for _, e := range list.Items {
				has = append(has, e.Reason+": "+e.Message)
			}
			return slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == reason })
		})
	}
	if tb.Failed() {
		tb.Logf("%s: %s", name, strings.Join(has, "\n"))
	}
}

// exec runs a command with secrets in its words, as a person does.
func (c *Canaries) exec(tb testing.TB, l *Lab) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Bin(tb, "podstep-lab"), "kubectl", "--dir", l.Dir, "exec", c.Name("probed"), "-c", "exec", "--",
		"sh", "-c", "echo "+c.Value("exec script"), "-p"+c.Value("exec option"), "--password", c.Value("exec word"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.Value("exec script")) {
		tb.Errorf("kubectl exec: %v: %s", err, out)
	}
}
