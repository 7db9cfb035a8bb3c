package simcri

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestCloseLeavesNothing: after Close none of our goroutines is left, whatever was under way.
func TestCloseLeavesNothing(t *testing.T) {
	n := start(t, "")
	n.launch("hangs", nil, "sh", "-c", "trap 'true' TERM; httpd -f -p 18080 & while true; do sleep 1; done")
	n.serve("serves", map[string]string{Prefix + "log": "tick", Prefix + "log-every": "1ms"})
	_, id := n.launch("shell", nil, "sleep", "infinity")
	r, err := n.Exec(n.ctx, &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"sh"}, Stdin: true, Stdout: true, Tty: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Attach(n.ctx, &runtimeapi.AttachRequest{ContainerId: id, Stdout: true})
	if err != nil {
		t.Fatal(err)
	}
	in, typing := io.Pipe()
	defer typing.Close()
	ended := make(chan error, 4)
	screen, out := io.Pipe()
	go func() {
		ended <- open(t, r.Url).StreamWithContext(n.ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true})
	}()
	if _, err := io.ReadFull(screen, make([]byte, len(prompt))); err != nil {
		t.Fatal(err)
	}
	go func() {
		ended <- open(t, a.Url).StreamWithContext(n.ctx, remotecommand.StreamOptions{Stdout: &bytes.Buffer{}})
	}()
	n.awaitAttached(id)
	go func() {
		_, err := n.RunPodSandbox(n.ctx, &runtimeapi.RunPodSandboxRequest{Config: n.pod("sandbox", map[string]string{Prefix + "sandbox-hang": "forever"})})
		ended <- err
	}()
	go func() {
		_, err := n.ExecSync(n.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sleep", "infinity"}})
		ended <- err
	}()
	if err := n.s.Close(); err != nil {
		t.Fatal(err)
	}
	for range cap(ended) {
		<-ended
	}
	for left := ours(); left != ""; left = ours() {
		if t.Context().Err() != nil {
			t.Fatal(left)
		}
		runtime.Gosched()
	}
}

// ours returns the goroutines that run code of this package, without its tests.
func ours() string {
	buf := make([]byte, 1<<20)
	var all []string
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "/lab/simcri") && !strings.Contains(g, "_test.go") {
			all = append(all, g)
		}
	}
	return strings.Join(all, "\n\n")
}
