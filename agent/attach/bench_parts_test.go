//go:build bench

package attach

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/kubelets"
)

// The parts of a measurement are processes of their own, as on a node. All but
// the off-the-shelf proxy are this test binary.

// The environment variables that tell a part its name, where it listens and where it connects to.
const (
	envPart   = "PODSTEP_BENCH_PART"
	envListen = "PODSTEP_BENCH_LISTEN"
	envTo     = "PODSTEP_BENCH_TO"
)

const (
	partRuntime = "runtime"
	partBytes   = "byte copy"
	partNobody  = "podstep, nobody looks"
	partPodstep = "podstep"
	partGRPC    = "grpc-proxy"
	// partApart is podstep as people use it: the relay is a process of its own. It has a runtime of its own, too,
	// since it takes that one's path over.
	partApart = "podstep and a relay process"
)

// peers are what stands between client and runtime, the slowest last.
var peers = []string{partBytes, partNobody, partPodstep, partApart, partGRPC}

// TestPart is a part's process. It ends with its standard input.
func TestPart(t *testing.T) {
	what, listen, to := os.Getenv(envPart), os.Getenv(envListen), os.Getenv(envTo)
	if what == "" {
		t.Skip("it is a part of TestBench")
	}
	if what == partApart {
		attachFrom(t, os.Getppid(), to)
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	l, err := net.Listen("unix", listen)
	if err != nil {
		t.Fatal(err)
	}
	switch what {
	case partRuntime:
		go serveRuntime(l)
	case partBytes:
		go serveEach(l, to, copyBytes)
	case partNobody:
		go serveEach(l, to, func(c, r *net.UnixConn) { _ = relay.New(c, r, unseen{}).Run() })
	case partPodstep:
		w := hostedBy(t, to, listen+".agent")
		go serveEach(l, to, func(c, r *net.UnixConn) { _ = relay.New(c, r, w).Run() })
	default:
		t.Fatalf("no part %q", what)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// unseen looks at no calls.
type unseen struct{ *watcher }

func (unseen) Wants(string) bool { return false }
func (unseen) Passed()           {}

// attachFrom attaches to a process that plays the kubelet of a runtime.
func attachFrom(t *testing.T, pid int, runtime string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Start(t.Context(), played(Options{
		Kubelet: kubelets.Kubelet{PID: pid, Started: startOf(t, pid), RuntimeEndpoint: runtime, OwnNetwork: true, Root: fmt.Sprintf("/proc/%d/root", pid)},
		Socket:  filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"), Probes: []Kind{CRI},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
}

// startApart starts podstep between this process and a runtime of its own. This process
// makes calls meanwhile, as a kubelet does.
func startApart(t *testing.T, dir string) *part {
	t.Helper()
	runtime := startPart(t, partRuntime, filepath.Join(dir, "apart"), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := runtimeapi.NewRuntimeServiceClient(dialPart(t, runtime.socket))
	go func() {
		for ctx.Err() == nil {
			_, _ = calls.Version(ctx, &runtimeapi.VersionRequest{})
			time.Sleep(10 * time.Millisecond)
		}
	}()
	p := startPart(t, partApart, dir, runtime.socket)
	p.socket = runtime.socket
	return p
}

// serveEach carries each connection that l accepts to the socket to.
func serveEach(l net.Listener, to string, carry func(client, runtime *net.UnixConn)) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		runtime, err := net.Dial("unix", to)
		if err != nil {
			client.Close()
			continue
		}
		go carry(client.(*net.UnixConn), runtime.(*net.UnixConn))
	}
}

func copyBytes(client, runtime *net.UnixConn) {
	one := func(to, from *net.UnixConn) {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
	}
	go one(runtime, client)
	one(client, runtime)
}

// hostedBy returns the watcher of a session, with an agent that gets everything.
func hostedBy(t testing.TB, runtime, socket string) *watcher {
	s := hostedAt(t, socket)
	err := s.cri.pods.reach(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", runtime)
	})
	if err == nil {
		err = s.cri.pods.load(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	go s.cri.publisher.run()
	return s.watcher()
}

// part is one part's process, as the test sees it.
type part struct {
	name, socket string
	pid          int
}

// start starts a part, and returns when the part listens.
func start(t *testing.T, cmd *exec.Cmd, name, socket string) *part {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	r := bufio.NewReader(out)
	for line := ""; line != "ready\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("%s does not start: %v, %s", name, err, line)
		}
	}
	go io.Copy(io.Discard, r) //nolint:errcheck // what the part prints at its end
	return &part{name, socket, cmd.Process.Pid}
}

func startPart(t *testing.T, name, dir, to string) *part {
	t.Helper()
	socket := filepath.Join(dir, strings.ReplaceAll(name, " ", ""))
	cmd := exec.Command(os.Args[0], "-test.run=^TestPart$")
	cmd.Env = append(os.Environ(), envPart+"="+name, envListen+"="+socket, envTo+"="+to)
	return start(t, cmd, name, socket)
}

// startOffTheShelf builds and starts the proxy that is put together from a library.
func startOffTheShelf(t *testing.T, dir, to string) *part {
	t.Helper()
	program := filepath.Join(dir, "grpcproxy.program")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "testdata/grpcproxy"
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the off-the-shelf proxy: %v\n%s", err, out)
	}
	socket := filepath.Join(dir, partGRPC)
	return start(t, exec.Command(program, socket, to), partGRPC, socket)
}

// cpu returns the CPU time that a part has used so far.
func (p *part) cpu(t *testing.T) time.Duration {
	t.Helper()
	var ts unix.Timespec
	const schedulers = 2 // CPUCLOCK_SCHED: the clock of a process is made of its id
	if err := unix.ClockGettime(int32(^p.pid)<<3|schedulers, &ts); err != nil {
		t.Fatalf("read the CPU time of %s: %v", p.name, err)
	}
	return time.Duration(ts.Nano())
}

// own returns the anonymous memory of a part, in KiB.
func (p *part) own(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int
	_, after, found := strings.Cut(string(text), "RssAnon:")
	if _, err := fmt.Sscan(after, &kib); !found || err != nil {
		t.Fatalf("%s: its status has no RssAnon", p.name)
	}
	return kib
}

// dialPart connects as the kubelet does.
func dialPart(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBenchMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
