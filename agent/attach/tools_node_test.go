//go:build node

package attach_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// tool runs a program to its end, and returns its exit code and its output, which are to be the same with and without
// podstep.
func tool(t *testing.T, l *labtest.Lab, name string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(l.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return fmt.Sprintf("exit code %d\n%s", cmd.ProcessState.ExitCode(), out.String())
}

// does runs tool, and checks that the output contains want.
func does(t *testing.T, l *labtest.Lab, want, name string, args ...string) {
	t.Helper()
	if got := tool(t, l, name, args...); !strings.HasPrefix(got, "exit code 0\n") || !strings.Contains(got, want) {
		t.Errorf("%s %v: %s: want %q", name, args, got, want)
	}
}

// crictl returns the crictl command for the lab's runtime.
func crictl(t *testing.T, l *labtest.Lab, args ...string) (string, []string) {
	return labtest.Bin(t, "crictl"), append([]string{"--runtime-endpoint", "unix://" + l.State.CRI, "--image-endpoint", "unix://" + l.State.CRI, "--timeout", "60s"}, args...)
}

// ctr returns the ctr command, run where containerd runs: ctr makes pipes in /run/containerd, which is the lab's own
// there.
func ctr(l *labtest.Lab, namespace string, args ...string) (string, []string) {
	return "nsenter", append([]string{"-t", fmt.Sprint(l.RuntimePID()), "-m", "ctr", "--address", l.State.CRI, "--namespace", namespace}, args...)
}

func kubectl(t *testing.T, l *labtest.Lab, args ...string) (string, []string) {
	t.Helper()
	cmd := l.Kubectl(t.Context(), args...)
	return cmd.Path, cmd.Args[1:]
}

// servedPod has a program that serves HTTP and repeats its standard input.
func servedPod(name string) *corev1.Pod {
	p := labtest.BusyboxPod(name, "mkdir /www; echo it works > /www/index.html; httpd -p 8080 -h /www; echo hello from a log; while read line; do echo got $line; done; "+labtest.Sleep)
	p.Spec.Containers[0].Stdin = true
	return p
}

// TestOtherTools: other clients of the runtime's socket, and of the kubelet, work as if podstep was not there.
func TestOtherTools(t *testing.T) {
	if _, err := os.Stat(labtest.Bin(t, "crictl")); err != nil {
		t.Skip("crictl is not built: run make crictl")
	}
	l := shared.For(t)
	const pod = "tools"
	l.Create(servedPod(pod))
	l.UntilReady(pod)
	p := l.Until(pod, "running", labtest.Ready)
	_, container, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	absent := "registry.example/absent:1"
	name, args := crictl(t, l, "pull", absent)
	before := tool(t, l, name, args...)

	a := attach(t, l)
	for _, c := range []struct {
		want string
		args []string
	}{
		{pod, []string{"pods"}},
		{"app", []string{"ps"}},
		{`"name": "app"`, []string{"inspect", container}},
		{"hello from a log", []string{"logs", container}},
		{"it works", []string{"exec", container, "cat", "/www/index.html"}},
		{"it works", []string{"exec", "-s", container, "cat", "/www/index.html"}},
		{"busybox", []string{"images"}},
		{"app", []string{"stats"}},
		{"containerd", []string{"version"}},
		{"RuntimeReady", []string{"info"}},
	} {
		name, args := crictl(t, l, c.args...)
		does(t, l, c.want, name, args...)
	}
	name, args = crictl(t, l, "pull", absent)
	if got := tool(t, l, name, args...); plain(got) != plain(before) || !strings.HasPrefix(got, "exit code 1\n") {
		t.Errorf("crictl pull of an image that is not there says %q, and without podstep %q", got, before)
	}
	useCtr(t, l)
	useKubectl(t, l, pod)
	life(t, l, "meanwhile")
	a.End(syscall.SIGTERM)
	a.left()
	name, args = kubectl(t, l, "exec", pod, "--", "cat", "/www/index.html")
	does(t, l, "it works", name, args...)
	l.Delete(pod)
	l.UntilGone(pod)
}

// changing matches the parts of an output that differ from one run of a tool to the next.
var changing = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d[T ][\d:.]+Z?|[EWI]\d{4} [\d:.]+ +\d+`)

func plain(s string) string { return changing.ReplaceAllString(s, "TIME") }

// useCtr uses containerd's own API, in a namespace of which the kubelet knows nothing.
func useCtr(t *testing.T, l *labtest.Lab) {
	t.Helper()
	use := func(want, namespace string, args ...string) {
		t.Helper()
		name, args := ctr(l, namespace, args...)
		does(t, l, want, name, args...)
	}
	use("busybox", "k8s.io", "images", "ls")
	// An image goes out and in: streams of some megabytes in both directions.
	file := l.Dir + "/image.tar"
	use("", "k8s.io", "images", "export", file, labtest.Image)
	use("busybox", "tools", "images", "import", "--snapshotter", "native", file)
	use("it runs", "tools", "run", "--rm", "--snapshotter", "native", labtest.Image, "once", "echo", "it runs")
	use("", "tools", "images", "rm", labtest.Image)
}

// useKubectl reaches the container through the API server and the kubelet.
func useKubectl(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	name, args := kubectl(t, l, "exec", pod, "--", "sh", "-c", "cat /www/index.html; exit 0")
	does(t, l, "it works", name, args...)
	name, args = kubectl(t, l, "exec", pod, "--", "sh", "-c", "exit 7")
	if got := tool(t, l, name, args...); !strings.Contains(got, "exit code 7") {
		t.Errorf("a command that ends with code 7 ends with %s", got)
	}

	logs := startKubectl(t, l, "logs", "-f", pod)
	logs.until("hello from a log")
	in := startKubectl(t, l, "attach", "-i", pod)
	in.write("a line")
	in.until("got a line")
	logs.until("got a line")
	in.end()
	logs.end()

	forward := startKubectl(t, l, "port-forward", "pod/"+pod, ":8080")
	printed := forward.until("Forwarding from 127.0.0.1:")
	port, _, _ := strings.Cut(strings.TrimPrefix(printed, "Forwarding from 127.0.0.1:"), " ")
	for range 3 {
		r, err := http.Get("http://127.0.0.1:" + port + "/")
		if err != nil {
			t.Fatalf("port-forward: %v", err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || string(body) != "it works\n" {
			t.Errorf("port-forward gives %q, %v", body, err)
		}
	}
	forward.end()
}

// running is a program that goes on until it is ended.
type running struct {
	t     *testing.T
	what  string
	in    io.WriteCloser
	lines chan string
	stop  context.CancelFunc
	once  sync.Once
	cmd   *exec.Cmd
}

// startKubectl starts a kubectl command.
func startKubectl(t *testing.T, l *labtest.Lab, args ...string) *running {
	t.Helper()
	name, args := kubectl(t, l, args...)
	return run(t, name, args...)
}

func run(t *testing.T, name string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, what: strings.Join(args, " "), lines: make(chan string, 100), stop: cancel, cmd: exec.CommandContext(ctx, name, args...)}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = r.cmd.Stdout
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	t.Cleanup(r.end)
	return r
}

func (r *running) write(line string) {
	r.t.Helper()
	if _, err := fmt.Fprintln(r.in, line); err != nil {
		r.t.Fatal(err)
	}
}

// until reads what the program prints, up to the line that has the text.
func (r *running) until(text string) string {
	r.t.Helper()
	for late := time.After(labtest.Patience); ; {
		select {
		case line, more := <-r.lines:
			if strings.Contains(line, text) {
				return line
			}
			if !more {
				r.t.Fatalf("%s ended without %q", r.what, text)
			}
		case <-late:
			r.t.Fatalf("%s does not print %q", r.what, text)
		}
	}
}

func (r *running) end() {
	r.once.Do(func() {
		r.stop()
		for range r.lines {
		}
		_ = r.cmd.Wait()
	})
}
