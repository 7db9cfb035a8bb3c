package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// kubeletEnv makes this test's program play a kubelet: up to before it handles signals (starts), or with a handler and
// a pod (runs).
const kubeletEnv = "PODSTEP_TEST_KUBELET"

const (
	starts = "starts"
	runs   = "runs"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(kubeletEnv); part != "" {
		os.Exit(playKubelet(part, os.Args[1]))
	}
	os.Exit(m.Run())
}

// podSteps are the steps of the played kubelet, outermost first.
var podSteps = []string{"worker.loop", "worker.turn", "sync.pod"}

func playKubelet(part, socket string) int {
	c := probes.MustLoad()
	for _, name := range podSteps {
		s := c.Step(name)
		f, err := probes.ParseSymbol(s.Symbol)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		hook.RegisterPackage(fmt.Sprintf("%s %s %s %s=%d!:%s", hook.RecordMark, f.Package, c.PackageHash(f.Package), name, s.ID, s.Sum))
	}
	warn := func(format string, args ...any) { fmt.Printf("warning: "+format+"\n", args...) }
	stop, err := Start(Options{Socket: socket, Node: "node", Warn: warn})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer stop()
	signals := make(chan os.Signal, 2)
	if part == runs {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	}
	fmt.Println("ready")
	orders := bufio.NewReader(os.Stdin)
	if line, _ := orders.ReadString('\n'); line == "" {
		// The test is gone, or has sent a signal that may still be on its way to
		// another thread: that ends the process here.
		time.Sleep(10 * time.Second)
		return 2
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		turn(c, podSteps)
	}()
	<-signals // as the kubelet does
	<-done
	fmt.Println("the pod went on")
	return 0
}

// turn plays the pod's worker in its steps.
func turn(c *probes.Catalogue, steps []string) {
	if len(steps) == 0 {
		return
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web", ResourceVersion: "1"}}
	values := map[string][]any{"worker.loop": {types.UID("uid-web")}, "worker.turn": nil, "sync.pod": {pod, "create"}}
	p, _ := hook.Enter(c.Step(steps[0]).ID, hook.List(values[steps[0]]...))
	defer hook.Leave(p, nil, nil)
	turn(c, steps[1:])
}

// kubelet is a process that plays a kubelet.
type kubelet struct {
	cmd    *exec.Cmd
	socket string
	in     io.WriteCloser
	out    *bufio.Reader
}

func startKubelet(t *testing.T, part string) *kubelet {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{socket: filepath.Join(t.TempDir(), "agent.sock")}
	k.cmd = exec.CommandContext(t.Context(), program, k.socket)
	k.cmd.Env = append(os.Environ(), kubeletEnv+"="+part)
	k.cmd.Stderr = os.Stderr
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.out = bufio.NewReader(out)
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := k.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the kubelet says %q, %v", line, err)
	}
	return k
}

// TestSignalBeforeTheKubelets: a SIGTERM that comes before the kubelet has a
// handler for it ends the process by that signal, as it does without podstep.
func TestSignalBeforeTheKubelets(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		k := startKubelet(t, starts)
		if err := k.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		// If the process took the signal and goes on, this lets it end.
		_ = k.in.Close()
		_ = k.cmd.Wait()
		how := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !how.Signaled() || how.Signal() != sig {
			t.Errorf("after %v the kubelet ended with %v", sig, k.cmd.ProcessState)
		}
	}
}

// TestSignalReleases: once the kubelet runs, a signal reaches it once, and lets
// held pods go.
func TestSignalReleases(t *testing.T) {
	k := startKubelet(t, runs)
	c, err := client.Dial(t.Context(), k.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Node: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddBreakpoint(ctx, &agentpb.AddBreakpointRequest{Step: "sync.pod"}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(k.in, "a pod comes\n"); err != nil {
		t.Fatal(err)
	}
	until(t, w, probes.Held)
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(k.out)
	if err := k.cmd.Wait(); err != nil || !strings.Contains(string(rest), "the pod went on") {
		t.Errorf("the kubelet ended with %v and %q", err, rest)
	}
}

func until(t *testing.T, w *client.Watch, kind probes.Kind) {
	t.Helper()
	for {
		b, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			if e.Kind == kind {
				return
			}
		}
	}
}
