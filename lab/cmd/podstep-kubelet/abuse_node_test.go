//go:build node

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
)

// nobody is a user that is neither root nor the user who runs the kubelet.
const nobody = 65534

// Whatever is done to the agent's socket, the kubelet goes on, and so does the
// agent for others.
func TestAbuse(t *testing.T) {
	l := labtest.Start(t)
	h := labtest.WatchHealth(t, l)
	life(t, l, "before")
	before := lookAtKubelet(t, l)
	for _, abuse := range []struct {
		name string
		do   func(*testing.T, *labtest.Lab)
	}{
		{"random bytes", randomBytes},
		{"truncated frames", truncatedFrames},
		{"many connections", manyConnections},
		{"malformed requests", malformedRequests},
		{"reader that does not read", deafReader},
		{"another user", anotherUser},
	} {
		t.Run(abuse.name, func(t *testing.T) {
			l := l.For(t)
			abuse.do(t, l)
			answers(t, l)
			life(t, l, "after")
			t.Log(lookAtKubelet(t, l))
		})
	}
	h.End(t)
	before.check(t, l)
}

// kubeletLoad has the figures of a kubelet that abuse must not change.
type kubeletLoad struct {
	pid    int
	rss    int64 // bytes
	fds    int
	faults uint64
	record int64 // bytes that the flight recorder holds
}

func (k kubeletLoad) String() string {
	return fmt.Sprintf("kubelet %d: %d MiB, %d files, recorder %d KiB, %d faults", k.pid, k.rss>>20, k.fds, k.record>>10, k.faults)
}

func lookAtKubelet(t *testing.T, l *labtest.Lab) kubeletLoad {
	t.Helper()
	agent, err := client.Dial(l.Context(), l.State.Agent)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := agent.Stats(l.Context(), &agentpb.StatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_ = agent.Close()
	k := kubeletLoad{pid: int(agent.About().GetPid()), faults: stats.GetFaults(), record: stats.GetRecorderBytes()}
	k.fds = labtest.Files(t, k.pid)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", k.pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	k.rss = pages * int64(os.Getpagesize())
	return k
}

// check compares with the kubelet of now.
func (k kubeletLoad) check(t *testing.T, l *labtest.Lab) {
	t.Helper()
	// Connections that were broken off are closed after a while.
	const some = 20
	labtest.Eventually(t, "files of the kubelet closed", func() bool { return labtest.Files(t, k.pid) <= k.fds+some })
	now := lookAtKubelet(t, l)
	t.Logf("before %v, now %v", k, now)
	if now.pid != k.pid {
		t.Error("it is another kubelet")
	}
	// Each client that does not read may keep 16 MiB of events waiting.
	if grew := now.rss - k.rss; grew > 128<<20 {
		t.Errorf("the kubelet grew by %d MiB", grew>>20)
	}
	if now.faults != k.faults {
		t.Errorf("podstep's code failed %d times in the kubelet", now.faults-k.faults)
	}
}

func answers(t *testing.T, l *labtest.Lab) {
	t.Helper()
	begin := time.Now()
	// While silent connections take all of the agent's places, it turns others away, until its time limit ends the
	// silent ones.
	labtest.Eventually(t, "answered", func() bool {
		_, _, code := l.Podstep("pods")
		return code == 0
	})
	t.Logf("podstep pods answers after %v", time.Since(begin).Round(time.Millisecond))
}

// life creates one pod and deletes it.
func life(t *testing.T, l *labtest.Lab, name string) {
	t.Helper()
	if _, _, err := labtest.Live(l.Client, name); err != nil {
		t.Fatal(err)
	}
}

// dialRaw connects without speaking the protocol.
func dialRaw(t *testing.T, l *labtest.Lab) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("unix", l.State.Agent, labtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// throw sends bytes and hangs up. The agent may hang up first.
func throw(t *testing.T, l *labtest.Lab, b []byte) {
	t.Helper()
	c := dialRaw(t, l)
	_, _ = c.Write(b)
	_ = c.Close()
}

func randomBytes(t *testing.T, l *labtest.Lab) {
	rnd := rand.NewChaCha8([32]byte{1})
	for i := range 1000 {
		b := make([]byte, 1+i*7%4096)
		_, _ = rnd.Read(b)
		throw(t, l, b)
	}
}

// preface is how an HTTP/2 connection begins.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame is an HTTP/2 frame that claims to be size bytes long.
func frame(kind, flags byte, stream uint32, size int, payload []byte) []byte {
	head := []byte{byte(size >> 16), byte(size >> 8), byte(size), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

func truncatedFrames(t *testing.T, l *labtest.Lab) {
	for n := range len(preface) {
		throw(t, l, []byte(preface)[:n])
	}
	settings := preface + string(frame(4, 0, 0, 0, nil))
	for kind := range byte(12) {
		for _, f := range [][]byte{
			frame(kind, 0, 0, 0, nil),
			frame(kind, 0xff, 1, 8, make([]byte, 8)),
			frame(kind, 0xff, 1, 9, make([]byte, 3)),
			frame(kind, 4, 3, 1<<24-1, make([]byte, 100)),
			frame(kind, 0, 1<<31-1, 16384, bytes.Repeat([]byte{0xff}, 16384)),
		} {
			throw(t, l, append([]byte(settings), f...))
			throw(t, l, append([]byte(preface), f[:len(f)/2]...))
		}
	}
}

// manyConnections opens ten thousand, a thousand at a time. Those of a wave stay open, as far as the agent lets them,
// while other clients use the agent.
func manyConnections(t *testing.T, l *labtest.Lab) {
	for wave := range 10 {
		var open []net.Conn
		for range 1000 {
			c, err := net.Dial("unix", l.State.Agent)
			if errors.Is(err, syscall.EAGAIN) {
				continue // the kernel turns it away: as many wait already as may
			}
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		if wave%5 == 4 {
			answers(t, l)
			life(t, l, fmt.Sprintf("wave-%d", wave))
		}
		for _, c := range open {
			_ = c.Close()
		}
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (rawCodec) Unmarshal(_ []byte, _ any) error { return nil }
func (rawCodec) Name() string                    { return "proto" }

func malformedRequests(t *testing.T, l *labtest.Lab) {
	conn, err := grpc.NewClient("unix://"+l.State.Agent, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	agent := agentpb.NewAgentClient(conn)
	huge := strings.Repeat("*a", 1<<19)
	_, err = agent.AddBreakpoint(l.Context(), &agentpb.AddBreakpointRequest{Step: huge})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a step glob of 1 MiB gives %v", err)
	}
	// This is as large as the agent accepts, and hard to match.
	_, err = agent.AddBreakpoint(l.Context(), &agentpb.AddBreakpointRequest{Step: huge[:60<<10]})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a step glob of 60 KiB gives %.200v", err)
	}
	rnd := rand.NewChaCha8([32]byte{2})
	for _, method := range agentpb.Agent_ServiceDesc.Methods {
		for i := range 50 {
			b := make([]byte, 1+i*13)
			_, _ = rnd.Read(b)
			// A field of a wrong type, then random bytes, is no message.
			b[0] = 0xff
			var out []byte
			ctx, cancel := context.WithTimeout(l.Context(), labtest.Patience)
			err := conn.Invoke(ctx, "/"+agentpb.Agent_ServiceDesc.ServiceName+"/"+method.MethodName, b, &out, grpc.ForceCodec(rawCodec{}))
			cancel()
			if status.Code(err) == codes.OK || status.Code(err) == codes.Unavailable {
				t.Fatalf("%s takes %x: %v", method.MethodName, b, err)
			}
		}
	}
}

// deafReader asks for everything and reads nothing. It must not slow the kubelet, and the events that it misses are
// not kept for it.
func deafReader(t *testing.T, l *labtest.Lab) {
	agent := l.Agent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 5 {
		if _, err := agent.AgentClient.Watch(ctx, &agentpb.WatchRequest{History: true, Node: true}); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			if _, _, err := labtest.Live(l.Client, fmt.Sprintf("deaf-%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// anotherUser must not get in. The socket's mode keeps it out. If somebody has changed the mode, its uid does.
func anotherUser(t *testing.T, l *labtest.Lab) {
	// The user must be able to get to program and socket for this to mean something.
	program := filepath.Join(t.TempDir(), "podstep")
	copyFile(t, labtest.Bin(t, "podstep"), program, 0o755)
	open(t, filepath.Dir(program), 0o755)
	open(t, filepath.Dir(filepath.Dir(program)), 0o755)
	open(t, l.Dir, 0o711)
	as := func() string {
		cmd := exec.CommandContext(l.Context(), program, "pods", "--socket", l.State.Agent)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("podstep pods as user %d: %v\n%s", nobody, err, out)
		}
		return string(out)
	}
	info, err := os.Stat(l.State.Agent)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the socket's mode is %o", mode)
	}
	if printed := as(); !strings.Contains(printed, "permission denied at the agent's socket") {
		t.Errorf("podstep says %q", printed)
	}
	open(t, l.State.Agent, 0o666)
	if printed := as(); !strings.Contains(printed, "does not answer like an agent") {
		t.Errorf("podstep says %q", printed)
	}
}

// open changes a file's mode for the duration of a test.
func open(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, info.Mode().Perm()) })
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// A request that cannot be carried out is answered with a sentence, and with an exit code that tells whether the
// request made no sense or the agent could not do it.
func TestBadInput(t *testing.T) {
	l := shared.For(t)
	const twin, other = "twin", "elsewhere"
	if _, err := l.Client.CoreV1().Namespaces().Create(l.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.Create(labtest.TinyPod(twin))
	second := labtest.TinyPod(twin)
	second.Namespace = other
	l.Create(second)
	l.UntilReady(twin)
	labtest.Eventually(t, "two pods of one name", func() bool { return strings.Count(l.Must("pods"), twin) == 2 })

	foreign := foreignSocket(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    string
		code    int
		message string
	}{
		{"break add twin --step no.such.step", 2, "no.such.step"},
		{"break add twin --step rt.sandbo", 2, "rt.sandbox"},
		{"break add twin --step status.patch", 1, "no pod can be held at enter of status.patch"},
		{"break add twin --step cri.RunPodSandbox --on exit", 1, "no pod can be held at exit of cri.RunPodSandbox"},
		{"break add twin --step rt.sandbox --lease soon", 2, `"soon"`},
		{"break add twin --step rt.sandbox --lease -5s", 2, "-5s"},
		{"break add twin --step rt.sandbox --action explode", 2, "explode"},
		{"break add twin --step rt.sandbox --on exit --action fail=x", 2, "only as it is entered"},
		{"break add [ --step rt.sandbox", 2, "["},
		{"break rm 4711", 1, "there is no breakpoint 4711"},
		{"hold no-such-pod", 1, "no pod no-such-pod on this node"},
		{"hold twin", 2, "2 pods match twin: default/twin, elsewhere/twin"},
		{"hold default/twin --lease nonsense", 2, `"nonsense"`},
		{"hold default/twin --lease 0s", 2, "0s"},
		{"hold default/twin --wait 1ms", 1, "came to no such place in 1ms and goes on freely"},
		{"step default/twin", 1, "is not held"},
		{"step default/twin --until no.such.step", 2, "no.such.step"},
		{"continue default/twin", 1, "is not held"},
		{"pods --socket /no/such/socket", 1, "no agent at /no/such/socket"},
		{"pods --socket " + file, 1, "is not a socket"},
		{"pods --socket " + foreign, 1, "belongs to"},
	} {
		out, printed, code := l.Podstep(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(printed, c.message) || !strings.HasPrefix(printed, "podstep: ") {
			t.Errorf("podstep %s ends with code %d and %q, not %d and %q", c.args, code, printed, c.code, c.message)
		}
		if out != "" {
			t.Errorf("podstep %s prints %q", c.args, out)
		}
	}
	bye(l, twin)
	if err := l.Client.CoreV1().Namespaces().Delete(l.Context(), other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// A lab has no namespace controller.
	if err := l.Client.CoreV1().Pods(other).Delete(l.Context(), twin, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// foreignSocket returns a socket of a user who is neither us nor root.
func foreignSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "other") // short, as socket paths must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "agent.sock")
	s, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return path
}
