package relayproc

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/kubelets"
)

// waitFor waits until a process is in one of some states.
func waitFor(t *testing.T, pid int, states ...byte) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !slices.Contains(states, kubelets.State(pid)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is in state %c", pid, kubelets.State(pid))
		}
	}
}

// TestWorksWithoutCalls: a kubelet that is stopped, or has ended, makes no calls through any path, and that is no
// reason to give the path back.
func TestWorksWithoutCalls(t *testing.T) {
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait() //nolint:errcheck // it is killed
	defer c.Process.Kill()
	pid := c.Process.Pid
	p := &process{o: Options{PID: pid, Started: startOf(t, pid)}, conns: &conns{all: map[*relay.Conn]bool{}}, gone: make(chan struct{})}
	if !p.kubeletRuns() {
		t.Error("the kubelet does not run")
	}
	_ = c.Process.Signal(unix.SIGSTOP)
	waitFor(t, pid, 'T')
	if err := p.works(time.Millisecond); err != nil {
		t.Errorf("a stopped kubelet: %v", err)
	}
	p.o.Started--
	_ = c.Process.Signal(unix.SIGCONT)
	waitFor(t, pid, 'S', 'R')
	if err := p.works(time.Millisecond); err != nil || p.kubeletRuns() {
		t.Errorf("another process has its number: %v", err)
	}
}

// TestOtherOptions: a podstep that comes back and wants something else gets no relay process with the options of the
// one before: that process leaves.
func TestOtherOptions(t *testing.T) {
	o := Options{Path: "/run/r.sock", Root: "/proc/7/root", PID: 7, Started: 8, Methods: []string{"a"}, Stay: time.Second}
	for name, change := range map[string]func(*Options){
		"all calls": func(o *Options) { o.Bare = []string{"b"} },
		"methods":   func(o *Options) { o.Methods = append(o.Methods, "c") },
		"kubelet":   func(o *Options) { o.PID++ },
		"unused":    func(o *Options) { o.Unused = time.Minute },
		"nothing":   func(*Options) {},
		"root":      func(o *Options) { o.Root = "/" },
	} {
		t.Run(name, func(t *testing.T) {
			p := &process{o: o, gone: make(chan struct{})}
			near, far := net.Pipe()
			defer far.Close()
			l, back := newLink(near), newLink(far)
			other := o
			other.Methods = slices.Clone(o.Methods)
			change(&other)
			wanted := o.agree(&other)
			if wanted != (name == "nothing" || name == "root") {
				t.Errorf("they agree: %v", wanted)
			}
			answers := make(chan message, 1)
			go func() {
				m, _ := back.Receive()
				answers <- m
			}()
			if got := p.adopt(&peer{link: l, pid: os.Getpid()}, &other); got != wanted {
				t.Fatalf("it is adopted: %v", got)
			}
			if wanted {
				return
			}
			if m := <-answers; m.Failed == nil || !m.Failed.Leaves {
				t.Errorf("the answer is %+v", m)
			}
			<-p.gone
		})
	}
}
