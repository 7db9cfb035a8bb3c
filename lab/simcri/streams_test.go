package simcri

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	clientexec "k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// open makes kubectl's end of a stream.
func open(t *testing.T, address string) remotecommand.Executor {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{}, http.MethodPost, u)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExec(t *testing.T) {
	n := start(t, "")
	_, id := n.launch("web", nil, "sleep", "infinity")
	for _, c := range []struct {
		command        []string
		in, out, error string
		code           int
	}{
		{[]string{"cat", "/etc/hostname"}, "", "web\n", "", 0},
		{[]string{"sh", "-c", "exit 3"}, "", "", "", 3},
		{[]string{"cat"}, "typed\n", "typed\n", "", 0},
		{[]string{"sh"}, "A=a; echo $A > /tmp/f\ncat /tmp/f\ntop\nexit\n", "a\n", "sh: not understood: command \"top\"; no process runs here\n", 127},
		{[]string{"top"}, "", "", "simcri: no process runs here; \"top\" is taken for a program that succeeds\n", 0},
	} {
		r, err := n.Exec(n.ctx, &runtimeapi.ExecRequest{ContainerId: id, Cmd: c.command, Stdin: c.in != "", Stdout: true, Stderr: true})
		if err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		options := remotecommand.StreamOptions{Stdout: &out, Stderr: &errOut}
		if c.in != "" {
			options.Stdin = strings.NewReader(c.in)
		}
		err = open(t, r.Url).StreamWithContext(n.ctx, options)
		var code clientexec.CodeExitError
		if errors.As(err, &code) != (c.code != 0) || code.Code != c.code || out.String() != c.out || errOut.String() != c.error {
			t.Errorf("%q: %v, %q, %q", c.command, err, out.String(), errOut.String())
		}
	}
}

// shell starts a container and returns a function for a shell at its terminal, as with kubectl exec -it: run runs the
// shell until it ends.
func shell(t *testing.T) (n *node, id string, run func(in io.Reader, out io.Writer) error) {
	t.Helper()
	n = start(t, "")
	_, id = n.launch("web", nil, "sleep", "infinity")
	r, err := n.Exec(n.ctx, &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"sh"}, Stdin: true, Stdout: true, Tty: true})
	if err != nil {
		t.Fatal(err)
	}
	return n, id, func(in io.Reader, out io.Writer) error {
		return open(t, r.Url).StreamWithContext(n.ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true})
	}
}

// TestTerminal: kubectl exec -it sends every key, and shows what comes back.
func TestTerminal(t *testing.T) {
	_, _, run := shell(t)
	var out bytes.Buffer
	keys := "ecc\x7fho \x1b[hi\rnever\x03bad\x15hostname\r\x04"
	if err := run(strings.NewReader(keys), &out); err != nil {
		t.Fatal(err)
	}
	// The echo and the output come from two sides. Each is in its own order.
	for _, want := range []string{"/ # ", "ecc\b \bho [hi\r\n", "never^C\r\n", "web\r\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q has no %q", out.String(), want)
		}
	}
}

// TestInterrupt: the interrupt key ends a command, not the shell.
func TestInterrupt(t *testing.T) {
	_, _, run := shell(t)
	in, typing := io.Pipe()
	shown, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- run(in, out) }()
	screen := bufio.NewReader(shown)
	for _, c := range []struct{ keys, until string }{
		{"", "/ # "},
		{"echo begin; sleep infinity\r", "\nbegin\r\n"},
		{"\x03", "^C\r\n/ # "},
		{"echo typed; cat\r", "\ntyped\r\n"},
		{"\x03", "/ # "},
		{"hostname\r", "\nweb\r\n/ # "},
	} {
		io.WriteString(typing, c.keys)
		for seen := ""; !strings.HasSuffix(seen, c.until); {
			b, err := screen.ReadByte()
			if err != nil {
				t.Fatalf("%v after %q", err, seen)
			}
			seen += string(b)
		}
	}
	go io.Copy(io.Discard, shown)
	io.WriteString(typing, "\x04")
	typing.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAttachStdin: a shell reads what is typed, and ends when the input ends.
func TestAttachStdin(t *testing.T) {
	n := start(t, "")
	config := n.pod("web", nil)
	id := n.createFrom(n.run(config), config, &runtimeapi.ContainerConfig{Command: []string{"/bin/sh"}, Stdin: true, StdinOnce: true})
	n.begin(id)
	r, err := n.Attach(n.ctx, &runtimeapi.AttachRequest{ContainerId: id, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	in, typing := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- open(t, r.Url).StreamWithContext(n.ctx, remotecommand.StreamOptions{Stdin: in, Stdout: &out, Stderr: &errOut})
	}()
	n.awaitAttached(id)
	io.WriteString(typing, "hostname\nexit 4\n")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	typing.Close()
	if s := n.exitOf(id); s.ExitCode != 4 || out.String() != "web\n" || errOut.String() != "" {
		t.Errorf("%v; %q, %q", s, out.String(), errOut.String())
	}
}

// awaitAttached waits until a client reads what a container prints.
func (n *node) awaitAttached(id string) {
	n.s.mu.Lock()
	log := n.s.containers[id].log
	n.s.mu.Unlock()
	for attached := false; !attached && n.t.Context().Err() == nil; runtime.Gosched() {
		log.mu.Lock()
		attached = len(log.tees) > 0
		log.mu.Unlock()
	}
}

// TestExecEndsWithTheContainer: a session ends with its container, also if nothing is typed.
func TestExecEndsWithTheContainer(t *testing.T) {
	n, id, run := shell(t)
	in, typing := io.Pipe()
	defer typing.Close()
	prompt, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- run(in, out) }()
	if _, err := io.ReadFull(prompt, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, prompt)
	if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestAttach(t *testing.T) {
	n := start(t, "")
	// The container lives on after its hello: its end would end the exec, too.
	_, id := n.launch("web", nil, "sh", "-c", "while [ ! -f /tmp/go ]; do sleep 0.01; done; echo hello; exec sleep 1000000")
	r, err := n.Attach(n.ctx, &runtimeapi.AttachRequest{ContainerId: id, Stdout: true})
	if err != nil {
		t.Fatal(err)
	}
	text, out := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- open(t, r.Url).StreamWithContext(n.ctx, remotecommand.StreamOptions{Stdout: out})
		out.Close()
	}()
	n.awaitAttached(id)
	n.exec(id, 0, "touch", "/tmp/go")
	got := make([]byte, 6)
	if _, err := io.ReadFull(text, got); err != nil || string(got) != "hello\n" {
		t.Errorf("%q %v", got, err)
	}
	go io.Copy(io.Discard, text)
	if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPortForward(t *testing.T) {
	n := start(t, "")
	_, address := n.serve("ok", nil)
	get(t, "http://"+address+"/") // it is open
	boxes, err := n.ListPodSandbox(n.ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.PortForward(n.ctx, &runtimeapi.PortForwardRequest{PodSandboxId: boxes.Items[0].Id, Port: []int32{18081}})
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(r.Url)
	stop, ready := make(chan struct{}), make(chan struct{})
	defer close(stop)
	pf, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), []string{"0:18081"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	go pf.ForwardPorts()
	<-ready
	ports, err := pf.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	if a := get(t, fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local)); a.code != 200 {
		t.Error(a)
	}
}

// FuzzTerminal: whatever is typed, the terminal gives lines of printable bytes.
func FuzzTerminal(f *testing.F) {
	f.Add([]byte("ls\rab\x7f\x7f\x7f\x03\x15x\r\x1b[A\x04"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		tty := newTerminal(bytes.NewReader(keys), io.Discard)
		text, _ := io.ReadAll(tty)
		for _, b := range text {
			if b < ' ' && b != '\n' || b == keyDelete {
				t.Fatalf("%q gives %q", keys, text)
			}
		}
	})
}
