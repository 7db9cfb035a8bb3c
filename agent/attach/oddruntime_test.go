package attach

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes/kubelets"
)

// oddRuntime is a runtime that does not behave as one should.
type oddRuntime struct {
	// accept, if not nil, is called before each connection is accepted. If it returns false, the runtime hangs up.
	accept func(context.Context) bool
	refuse bool // nobody listens on the socket any more
	// answer returns the error of a call; with a nil error the call is answered.
	answer func(ctx context.Context, method string) error
}

// oddListener accepts connections as its runtime's accept decides.
type oddListener struct {
	net.Listener
	ctx    context.Context
	accept func(context.Context) bool
}

func (l oddListener) Accept() (net.Conn, error) {
	for {
		serves := l.accept(l.ctx)
		c, err := l.Listener.Accept()
		if err != nil || serves {
			return c, err
		}
		c.Close()
	}
}

// play starts the runtime, and returns the path of its socket.
func (r oddRuntime) play(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sock")
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if r.refuse {
		unix.SetUnlinkOnClose(false)
		unix.Close()
		return path
	}
	var l net.Listener = unix
	if r.accept != nil {
		l = oddListener{unix, t.Context(), r.accept}
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if r.answer != nil {
			if err := r.answer(ctx, info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]); err != nil {
				return nil, err
			}
		}
		return next(ctx, in)
	}))
	runtimeapi.RegisterRuntimeServiceServer(s, &playedRuntime{path: path})
	go s.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
	return path
}

// stuck answers no call, even after its caller has given it up.
func stuck(context.Context) error { select {} }

// hangs answers a call only when its caller has given it up.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// only answers calls of one method, and passes the others to otherwise.
func only(method string, otherwise func(context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, called string) error {
		if called == method {
			return nil
		}
		return otherwise(ctx)
	}
}

// playKubelet makes a kubelet's calls from this process: it calls each method again and again, whatever the results.
// It gives up hurried calls after a second.
func playKubelet(t *testing.T, path string, methods ...string) {
	t.Helper()
	client := dialPath(t, path)
	calls := map[string]func(context.Context) error{
		"Version": func(ctx context.Context) error {
			_, err := client.Version(ctx, &runtimeapi.VersionRequest{})
			return err
		},
		"Status": func(ctx context.Context) error {
			_, err := client.Status(ctx, &runtimeapi.StatusRequest{})
			return err
		},
		"ListPodSandbox": func(ctx context.Context) error {
			_, err := client.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
			return err
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for _, method := range methods {
		method, hurried := strings.CutSuffix(method, ", hurried")
		patience := patience
		if hurried {
			patience = time.Second
		}
		callers.Go(func() {
			for ctx.Err() == nil {
				one, cancel := context.WithTimeout(ctx, patience)
				_ = calls[method](one)
				cancel()
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() { stop(); callers.Wait() })
}

// kubeletHere returns this process, as a kubelet.
func kubeletHere(t *testing.T, path string) kubelets.Kubelet {
	t.Helper()
	return kubelets.Kubelet{PID: os.Getpid(), Started: started(t), RuntimeEndpoint: path, OwnNetwork: true, Root: fmt.Sprintf("/proc/%d/root", os.Getpid())}
}

// prints keeps the lines that a session prints.
type prints struct {
	mu    sync.Mutex
	lines []string
}

func (p *prints) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *prints) has(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.lines, func(line string) bool { return strings.Contains(line, text) })
}

func (p *prints) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// attachHere attaches to this process, as a kubelet that has its runtime at a path.
func attachHere(t *testing.T, path string) (*Session, *prints, error) {
	t.Helper()
	dir, printed := t.TempDir(), &prints{}
	s, err := Start(t.Context(), played(Options{
		Kubelet: kubeletHere(t, path), Socket: filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"), Probes: []Kind{CRI}, Print: printed.add,
	}))
	if err == nil {
		t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	}
	return s, printed, err
}

// untouched checks that a runtime's directory has only its socket, the same as before.
func untouched(t *testing.T, path string, before os.FileInfo) {
	t.Helper()
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(before, now) {
		t.Errorf("the socket is another one, or gone: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the socket there is %v, %v", entries, err)
	}
}
