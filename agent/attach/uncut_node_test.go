//go:build node

package attach_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// The defaults are small; PODSTEP_UNCUT=10 PODSTEP_UNCUT_SECONDS=600 PODSTEP_UNCUT_MIB=1024 makes the whole test.
const (
	uncutTimes   = 3
	uncutSeconds = 20
	uncutMiB     = 64
)

// TestNothingCut: podstep attaches and detaches while an image is pulled slowly, preStop hooks run, a file is copied
// into a pod, and a person has a shell and a forwarded port of the pod. Some of these began before podstep attached,
// others while it was attached. Each goes on until the last podstep has gone, and none is cut off.
func TestNothingCut(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	began, before := time.Now(), socketOf(t, l)
	r := startRegistry(t, l)
	const slow, early, late, served = "slowpull", "hooked-early", "hooked-late", "served"
	l.Create(hookedPod(early))
	l.Create(hookedPod(late))
	l.Create(labtest.BusyboxPod(served, "nc -ll -p 8081 -e cat & "+labtest.Sleep))
	for _, pod := range []string{early, late, served} {
		l.UntilReady(pod)
	}
	startHook(t, l, early)
	shell, port, copies := startShell(t, l, served), startForward(t, l, served), startCopies(t, l, served)

	n, relay := 0, 0 // the first one
	for least := time.Duration(labtest.Times(t, "PODSTEP_UNCUT_SECONDS", uncutSeconds)) * time.Second; n < labtest.Times(t, "PODSTEP_UNCUT", uncutTimes) || time.Since(began) < least; n++ {
		a := l.Attach()
		if n == 0 {
			relay = a.Relays()[0]
			startHook(t, l, late)
			startPull(t, l, r, slow)
		}
		seen(t, l, fmt.Sprintf("uncut-%d", n))
		shell.echo(fmt.Sprint("attached ", n))
		port.echo(fmt.Sprint("attached ", n))
		a.Signal(syscall.SIGINT)
		if n%2 == 1 { // otherwise podstep waits a while for calls under way
			a.Signal(syscall.SIGINT)
		}
		if code := a.Wait(); code != 0 {
			t.Errorf("podstep attach ended with code %d", code)
		}
		if now := socketOf(t, l); now != before {
			t.Errorf("the socket was %+v and is %+v", before, now)
		}
		shell.echo(fmt.Sprint("detached ", n))
		port.echo(fmt.Sprint("detached ", n))
	}
	if labtest.Parent(relay) == 0 {
		t.Errorf("the relay process %d has ended, and calls that came through it are under way", relay)
	}
	t.Logf("podstep came and went %d times in %v; %d files of %d MiB were copied", n, time.Since(began).Round(time.Second), copies.end(), labtest.Times(t, "PODSTEP_UNCUT_MIB", uncutMiB))
	close(r.free)
	l.UntilReady(slow)
	for _, pod := range []string{early, late} {
		if !inPod(t, l, pod, "touch /tmp/go") {
			t.Errorf("the hook of %s cannot be asked to end", pod)
		}
		l.UntilGone(pod)
	}
	for _, e := range warnings(t, l, nil) {
		if slices.Contains([]string{slow, early, late, served}, e.InvolvedObject.Name) {
			t.Errorf("the kubelet warns of %s: %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	for _, pod := range []string{slow, served} {
		l.Delete(pod)
		l.UntilGone(pod)
	}
	labtest.Eventually(t, "gone: all of podstep, with the last call", func() bool { return len(l.AttachTraces()) == 0 && labtest.Parent(relay) == 0 })
	h.End(t)
}

// inPod runs a command in a pod.
func inPod(t *testing.T, l *labtest.Lab, pod, command string) bool {
	t.Helper()
	name, args := kubectl(t, l, "exec", pod, "--", "sh", "-c", command)
	return exec.CommandContext(l.Context(), name, args...).Run() == nil
}

// startHook deletes a pod, and returns when its preStop hook is under way.
func startHook(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	grace := int64(time.Hour / time.Second)
	if err := l.Client.CoreV1().Pods("default").Delete(l.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "under way: the preStop hook of "+pod, func() bool { return inPod(t, l, pod, "test -e /tmp/begun") })
}

// startPull creates a pod, and returns when its image is being pulled.
func startPull(t *testing.T, l *labtest.Lab, r *slowRegistry, pod string) {
	t.Helper()
	p := labtest.BusyboxPod(pod, labtest.Sleep)
	p.Spec.Containers[0].Image = r.image
	l.Create(p)
	select {
	case <-r.asked:
	case <-time.After(labtest.Patience):
		t.Fatal("the image is not pulled")
	}
}

// hookedPod has a preStop hook that runs until somebody lets it end.
func hookedPod(name string) *corev1.Pod {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
		Command: []string{"sh", "-c", "touch /tmp/begun; while [ ! -e /tmp/go ]; do sleep 1; done"},
	}}}
	return p
}

// echoes is a stream whose other end sends each line back.
type echoes struct {
	t     *testing.T
	what  string
	in    io.Writer
	lines *bufio.Reader
}

// echo sends a line, which must come back.
func (e *echoes) echo(line string) {
	e.t.Helper()
	if _, err := fmt.Fprintln(e.in, line); err != nil {
		e.t.Fatalf("%s: %v", e.what, err)
	}
	for {
		got, err := e.lines.ReadString('\n')
		if err != nil {
			e.t.Fatalf("%s: %v instead of %q", e.what, err, line)
		}
		if strings.Contains(got, "got "+line) || e.what == "port-forward" && strings.TrimSpace(got) == line {
			return
		}
	}
}

// startShell starts a kubectl exec -it, in a terminal.
func startShell(t *testing.T, l *labtest.Lab, pod string) *echoes {
	t.Helper()
	master, terminal, err := labtest.Terminal()
	if err != nil {
		t.Fatal(err)
	}
	name, args := kubectl(t, l, "exec", "-it", pod, "--", "sh", "-c", "while read line; do echo got $line; done")
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = master.Close() })
	return &echoes{t, "kubectl exec -it", master, bufio.NewReader(master)}
}

// startForward makes a connection through kubectl port-forward.
func startForward(t *testing.T, l *labtest.Lab, pod string) *echoes {
	t.Helper()
	printed := startKubectl(t, l, "port-forward", "pod/"+pod, ":8081").until("Forwarding from 127.0.0.1:")
	port, _, _ := strings.Cut(strings.TrimPrefix(printed, "Forwarding from 127.0.0.1:"), " ")
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &echoes{t, "port-forward", c, bufio.NewReader(c)}
}

// copies copies a file into a pod again and again.
type copies struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	n    int
}

func startCopies(t *testing.T, l *labtest.Lab, pod string) *copies {
	t.Helper()
	file, sum := filepath.Join(t.TempDir(), "large"), sha256.New()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(io.MultiWriter(f, sum), rand.Reader, int64(labtest.Times(t, "PODSTEP_UNCUT_MIB", uncutMiB))<<20); err != nil {
		t.Fatal(err)
	}
	copyName, copyArgs := kubectl(t, l, "cp", file, pod+":/tmp/large")
	sumName, sumArgs := kubectl(t, l, "exec", pod, "--", "sha256sum", "/tmp/large")
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &copies{stop: stop}
	t.Cleanup(func() { c.end() })
	c.wg.Go(func() {
		for ctx.Err() == nil { // the last one is finished
			out, err := exec.Command(copyName, copyArgs...).CombinedOutput()
			if err != nil {
				t.Errorf("kubectl cp: %v: %s", err, out)
				return
			}
			out, err = exec.Command(sumName, sumArgs...).CombinedOutput()
			if want := fmt.Appendf(nil, "%x", sum.Sum(nil)); err != nil || !bytes.HasPrefix(out, want) {
				t.Errorf("the copy has the sum %s (%v), want %s", out, err, want)
			}
			c.n++
		}
	})
	return c
}

// end lets the last copy come to its end, and returns how many there were.
func (c *copies) end() int {
	c.stop()
	c.wg.Wait()
	return c.n
}
