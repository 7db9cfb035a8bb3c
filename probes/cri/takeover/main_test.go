package takeover

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The test binary plays all processes: the guard, a runtime, a kubelet, and a
// podstep that is killed.
func TestMain(m *testing.M) {
	roles := map[string]func(args []string) error{
		"guard":   func([]string) error { os.Exit(Guard()); return nil },
		"echo":    playEcho,
		"server":  playServer,
		"hidden":  playHidden,
		"client":  playClient,
		"holder":  playHolder,
		"blind":   playBlind,
		"unseen":  playUnseen,
		"jail":    playJail,
		"jailed":  playJailed,
		"mounter": playMounter,
		"idle":    playIdle,
		"witness": playWitness,
		"stuffer": playStuffer,
		"crio":    playCRIO,
		"both":    playBoth,
	}
	if len(os.Args) > 1 {
		if role := roles[os.Args[1]]; role != nil {
			if err := role(os.Args[2:]); err != nil {
				fmt.Println("failed:", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// child is a process of the test's. It ends with its stdin.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	once  sync.Once
}

// play starts a role, and returns when the role reports that it is ready.
func play(t *testing.T, role ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command("/proc/self/exe", role...)}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	t.Cleanup(c.end)
	if got := c.line(); got != "ready" {
		t.Fatalf("%v is not ready: %s", role, got)
	}
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) line() string {
	line, err := c.lines.ReadString('\n')
	if err != nil {
		return fmt.Sprint(line, err)
	}
	return strings.TrimSpace(line)
}

// ask sends a line to the child and returns its answer.
func (c *child) ask(line string) string {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err)
	}
	return c.line()
}

// end ends the child as it would by itself.
func (c *child) end() {
	c.once.Do(func() {
		_ = c.in.Close()
		_ = c.cmd.Wait()
	})
}

// kill ends it at once.
func (c *child) kill() {
	c.once.Do(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
}

func untilStdinEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

// playEcho is a runtime that sends back what it gets.
func playEcho(args []string) error {
	_ = os.Remove(args[0])
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	untilStdinEnds()
	return l.Close()
}

// ownMounts moves the calling goroutine into a mount namespace of its own.
func ownMounts() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// playHidden is an echo in a mount namespace of its own, with a directory that no other process sees.
func playHidden(args []string) error {
	if err := ownMounts(); err != nil {
		return err
	}
	if err := unix.Mount("none", filepath.Dir(args[0]), "tmpfs", 0, ""); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", append([]string{"takeover", "echo"}, args...), nil)
}

const (
	methodEcho   = "/test.Runtime/Echo"
	methodSlow   = "/test.Runtime/Slow"
	methodFinish = "/test.Runtime/Finish"
)

// playServer is a runtime that speaks gRPC. A Slow call lasts until Finish is called.
func playServer(args []string) error {
	_ = os.Remove(args[0])
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	s := newServer()
	go s.Serve(l)
	fmt.Println("ready")
	untilStdinEnds()
	s.Stop()
	return nil
}

func newServer() *grpc.Server {
	finish := make(chan struct{})
	var once sync.Once
	return grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		in := &wrapperspb.StringValue{}
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		switch method, _ := grpc.MethodFromServerStream(stream); method {
		case methodSlow:
			<-finish
		case methodFinish:
			once.Do(func() { close(finish) })
		}
		return stream.SendMsg(in)
	}))
}

// playClient is a kubelet: it calls in a loop from many goroutines, and has a
// long call under way, all over one gRPC connection.
func playClient(args []string) error {
	c, err := grpc.NewClient("unix:"+args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	call := func(method, text string) error {
		out := &wrapperspb.StringValue{}
		if err := c.Invoke(context.Background(), method, wrapperspb.String(text), out); err != nil {
			return err
		}
		if out.Value != text {
			return fmt.Errorf("got %q back", out.Value)
		}
		return nil
	}
	if err := call(methodEcho, "first"); err != nil {
		return err
	}
	var calls, failed atomic.Int64
	var problem atomic.Value
	problem.Store("")
	slow := make(chan error, 1)
	go func() { slow <- call(methodSlow, "slow") }()
	for i := range 8 {
		go func() {
			for n := 0; ; n++ {
				if err := call(methodEcho, fmt.Sprint(i, n)); err != nil {
					failed.Add(1)
					problem.Store(err.Error())
				}
				calls.Add(1)
			}
		}()
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "count":
			fmt.Println(calls.Load(), failed.Load(), problem.Load())
		case "finish":
			fmt.Println(errors.Join(call(methodFinish, "finish"), <-slow))
		}
	}
	return nil
}

// counts asks a client how many calls it made, and how many failed.
func (c *child) counts() (calls, failed int, problem string) {
	c.t.Helper()
	line := c.ask("count")
	if _, err := fmt.Sscan(line, &calls, &failed); err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	return calls, failed, line
}

// playStuffer has a connection that is never quiet: it does not read what it is sent. It reports when the
// connection has ended.
func playStuffer(args []string) error {
	c, err := net.Dial("unix", args[0])
	if err != nil {
		return err
	}
	go func() {
		for err == nil {
			_, err = c.Write(make([]byte, 1<<20))
		}
		fmt.Println("ended")
	}()
	fmt.Println("ready")
	untilStdinEnds()
	return nil
}

// playHolder is a podstep that takes a path over and lets bytes through.
func playHolder(args []string) error {
	signal.Ignore(unix.SIGPIPE)
	var r relay
	serve, taken := r.server()
	o := Options{Path: args[0], Dir: args[1], Serve: serve}
	if len(args) > 2 {
		o.Root = args[2]
	}
	t, err := Take(context.Background(), o)
	if err != nil {
		return err
	}
	taken(t)
	fmt.Println("ready")
	untilStdinEnds()
	return t.Give(context.Background())
}

// relay serves connections by copying bytes.
type relay struct {
	conns atomic.Int64
	bytes atomic.Int64
	fails atomic.Int64
}

// server returns serve, which serves the connections of one takeover, and taken, which sets that takeover.
func (r *relay) server() (serve func(*net.UnixConn, int), taken func(*Takeover)) {
	var t *Takeover
	ready := make(chan struct{})
	serve = func(c *net.UnixConn, pid int) {
		defer c.Close()
		<-ready
		if t != nil {
			r.carry(c, pid, t)
		}
	}
	return serve, func(tk *Takeover) { t = tk; close(ready) }
}

func (r *relay) carry(c *net.UnixConn, pid int, t *Takeover) {
	if what, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); !bytes.Contains(what, []byte("guard")) {
		r.conns.Add(1) // a guard's connections are its own affair
	}
	up, err := t.Dial(context.Background())
	if err != nil {
		r.fails.Add(1)
		return
	}
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() { r.copy(up, c) })
	both.Go(func() { r.copy(c, up) })
	both.Wait()
}

func (r *relay) copy(to, from *net.UnixConn) {
	n, _ := io.Copy(to, &counted{from, &r.bytes})
	_ = n
	_ = to.CloseWrite()
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// notes keeps the notes of a takeover.
type notes chan Note

func (n notes) put(note Note) {
	select {
	case n <- note:
	default:
	}
}

// wait returns the next note of that kind. It skips others.
func (n notes) wait(t *testing.T, what string) Note {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case got := <-n:
			t.Logf("note %s: %s %v", got.What, got.Text, got.Err)
			if got.What == what {
				return got
			}
		case <-late:
			t.Fatalf("no note says %s", what)
		}
	}
}

// setup is a takeover with its surroundings.
type setup struct {
	path, dir, state string
	relay            *relay
	notes            notes
}

// newSetup makes directories short enough for sockets.
func newSetup(t *testing.T) *setup {
	t.Helper()
	dir, err := os.MkdirTemp("", "take")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	return &setup{
		path: filepath.Join(run, "rt.sock"), dir: run, state: filepath.Join(dir, "state"),
		relay: &relay{}, notes: make(notes, 1000),
	}
}

func (s *setup) options() Options {
	return Options{Path: s.path, Dir: s.state, Serve: func(c *net.UnixConn, _ int) { c.Close() }, Note: s.notes.put}
}

// take takes the path over, and gives it back at the test's end at the latest.
func (s *setup) take(t *testing.T, change ...func(*Options)) *Takeover {
	t.Helper()
	o := s.options()
	serve, taken := s.relay.server()
	o.Serve = serve
	for _, c := range change {
		c(&o)
	}
	tk, err := Take(t.Context(), o)
	taken(tk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.give(t, tk) })
	return tk
}

func (s *setup) give(t *testing.T, tk *Takeover) {
	t.Helper()
	if err := tk.Give(context.Background()); err != nil {
		t.Error(err)
	}
}

// untouched fails unless the directories are as they were.
func (s *setup) untouched(t *testing.T, want ...string) {
	t.Helper()
	for dir, names := range map[string][]string{s.dir: want, s.state: nil} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("in %s is %q, want %q", filepath.Base(dir), got, names)
		}
	}
}

// round sends a byte to a socket and back.
func round(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte{7}); err != nil {
		return err
	}
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	return nil
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: connections of other processes are taken")
	}
}

func stat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}
