package kubelets

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// playEnv makes this program play a kubelet: it connects to the sockets that the variable names, reports that, and
// stays until its standard input ends.
const playEnv = "PODSTEP_TEST_CONNECT"

func TestMain(m *testing.M) {
	if sockets, ok := os.LookupEnv(playEnv); ok {
		play(strings.Fields(sockets))
	}
	if _, ok := os.LookupEnv(listenEnv); ok {
		playListener()
	}
	os.Exit(m.Run())
}

func play(sockets []string) {
	for _, s := range sockets {
		c, err := net.Dial("unix", s)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		defer c.Close()
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// start starts a process that has this name and these connections.
func start(t *testing.T, name string, sockets []string, args ...string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, self, name, sockets, args...)
}

func startProgram(t *testing.T, from, name string, sockets []string, args ...string) int {
	t.Helper()
	program := filepath.Join(shortDir(t), name)
	if err := os.Link(from, program); err != nil {
		copyFile(t, from, program)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), playEnv+"="+strings.Join(sockets, " "))
	if line := firstLine(t, cmd); line != "connected\n" {
		t.Fatalf("it did not connect: %s", line)
	}
	return cmd.Process.Pid
}

// firstLine starts a program that runs until its standard input ends, at the latest with
// the test, and returns the first line that it prints.
func firstLine(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	return line
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shortDir returns a directory whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// listen serves a socket that accepts connections and does no more.
func listen(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return path
}

// describe1 describes a process of this machine. It skips the test if this user may not look at connections.
func describe1(t *testing.T, pid int) Kubelet {
	t.Helper()
	k, err := ByPID(t.Context(), pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range k.Problems {
		if strings.Contains(p, "CAP_SYS_PTRACE") {
			t.Skip("connections may be seen by root alone")
		}
	}
	return k
}

func TestConnections(t *testing.T) {
	dir := shortDir(t)
	runtime, other := listen(t, dir+"/containerd.sock"), listen(t, dir+"/csi.sock")
	if err := os.Symlink("containerd.sock", dir+"/link.sock"); err != nil {
		t.Fatal(err)
	}
	// The process in between made its socket with another name, and put it to the path.
	replaced := dir + "/crio.sock"
	if err := os.Rename(listen(t, replaced+".new"), replaced); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag string
		sockets    []string
		endpoint   string
		problem    string
	}{
		{"as its flags have it", runtime, []string{runtime, other, runtime}, runtime, ""},
		{"by another name", dir + "/link.sock", []string{dir + "/link.sock", other}, dir + "/link.sock", ""},
		{"another than its flags have", dir + "/none.sock", []string{runtime, other}, runtime,
			"its flags and files name the runtime " + dir + "/none.sock, but it is connected to " + runtime},
		{"to one that was renamed", replaced, []string{replaced, other}, replaced,
			"it is connected to " + replaced + ".new, and no socket is called so now: its runtime is taken to be at " + replaced},
		{"to none", runtime, []string{other}, runtime, "it is not connected to its runtime at " + runtime + " now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pid := start(t, "kubelet", c.sockets, "--container-runtime-endpoint=unix://"+c.flag)
			k := describe1(t, pid)
			if k.RuntimeEndpoint != c.endpoint || k.ImageEndpoint != c.endpoint {
				t.Errorf("runtime %s, images %s, want %s", k.RuntimeEndpoint, k.ImageEndpoint, c.endpoint)
			}
			if got := strings.Join(k.Problems, "\n"); got != c.problem {
				t.Errorf("problems %q, want %q", got, c.problem)
			}
			for _, s := range c.sockets {
				if s != dir+"/link.sock" && s != replaced && !slices.Contains(k.Connected, s) {
					t.Errorf("it is connected to %s, and only %s are seen", s, k.Connected)
				}
			}
			if k.Doubt == "" {
				t.Error("a program without Kubernetes is taken for a kubelet without a doubt")
			}
		})
	}
}

func TestAside(t *testing.T) {
	dir := shortDir(t)
	if err := os.Mkdir(dir+"/real", 0o755); err != nil {
		t.Fatal(err)
	}
	// podstep's own socket has the path, and another name.
	ours := listen(t, dir+"/ours")
	if err := os.Rename(ours, dir+"/real/containerd.sock"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real/containerd.sock", dir+"/containerd.sock"); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{dir + "/real/containerd.sock", dir + "/containerd.sock"} {
		pid := start(t, "kubelet", []string{socket}, "--container-runtime-endpoint=unix://"+socket)
		if k := describe1(t, pid); k.Aside() != "" || len(k.Problems) != 1 {
			t.Errorf("%s is aside, problems %q", k.Aside(), k.Problems)
		}
		listen(t, dir+"/real/containerd.sock.podstep")
		k := describe1(t, pid)
		if k.Aside() != dir+"/real/containerd.sock.podstep" || len(k.Problems) != 0 {
			t.Errorf("%q is aside, problems %q", k.Aside(), k.Problems)
		}
		if err := os.Remove(dir + "/real/containerd.sock.podstep"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{"kubelet": true, "podstep-kubelet": true, "kubelet-exporter": false, "cubelet": false} {
		if pid := start(t, name, nil); Is(pid, "") != want {
			t.Errorf("a process called %s is a kubelet: %v", name, !want)
		}
	}
	if Is(-1, "") {
		t.Error("what is not there is a kubelet")
	}
}

// TestFindHere finds a process on this very machine.
func TestFindHere(t *testing.T) {
	pid := start(t, "kubelet", nil, "--hostname-override=here", "--config-dir=/nowhere")
	all, err := Find(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(k Kubelet) bool { return k.PID == pid })
	if i < 0 || all[i].Node != "here" || all[i].Flags["config-dir"] != "/nowhere" || all[i].Program == "" || !all[i].Same() || all[i].OwnNetwork {
		t.Errorf("found %+v", all)
	}
}

func TestFindEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, Options{}); err == nil {
		t.Error("it goes on after its context ended")
	}
	if _, err := Find(t.Context(), Options{Proc: t.TempDir() + "/none"}); err == nil {
		t.Error("a process table that is not there has kubelets")
	}
}

func TestServed(t *testing.T) {
	dir := shortDir(t)
	serve := func(name string, answer func(net.Conn)) {
		l, err := net.Listen("unix", dir+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				// Closing before reading would break the other's pipe.
				_, _ = io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))+9)
				answer(c)
				_ = c.Close()
			}
		}()
	}
	serve("good", func(c net.Conn) { _ = http2.NewFramer(c, c).WriteSettings() })
	serve("other", func(c net.Conn) { _ = http2.NewFramer(c, c).WritePing(false, [8]byte{}) })
	serve("shut", func(net.Conn) {})
	dead := listen(t, dir+"/dead")
	if err := os.Rename(dead, dir+"/left"); err != nil {
		t.Fatal(err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/gone"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	long := dir + "/" + strings.Repeat("d", 150)
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(dir+"/good", long+"/good"); err != nil {
		t.Fatal(err)
	}
	k := &Kubelet{Root: dir}
	for path, want := range map[string]string{
		"/good":                   "",
		long[len(dir):] + "/good": "",
		"/other":                  "greet /other: it answers with PING in place of settings",
		"/shut":                   "greet /shut: ",
		"/gone":                   "connect to /gone: connect: connection refused",
		"/file":                   "/file is not a socket",
		"/none":                   "no such file",
	} {
		err := k.Served(t.Context(), path)
		if got := errText(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	// Served waits for a server that accepts nothing only as long as the caller wants.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Served(ctx, "/left") }()
	cancel()
	if err := <-done; err == nil {
		t.Error("a socket that nobody answers at is served")
	}
}

// TestState: State returns the state that the kernel has, whatever the process's name; a process that is not there
// has none.
func TestState(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if s := State(os.Getpid()); s == 0 || s == 'Z' || s == 'X' {
		t.Errorf("this process is %q", s)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for State(pid) != 'T' {
		time.Sleep(time.Millisecond) // the signal takes effect a little later
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if s := State(pid); s != 0 {
		t.Errorf("one that has ended is %q", s)
	}
}
