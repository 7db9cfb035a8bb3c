package kubelets

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestServer: Server finds the process that serves a socket, and fails if there is none.
func TestServer(t *testing.T) {
	k := Kubelet{Root: shortDir(t)}
	l, err := net.Listen("unix", filepath.Join(k.Root, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := k.Server(t.Context(), "/s"); err != nil || pid != os.Getpid() {
		t.Errorf("it is process %d, %v", pid, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Server(t.Context(), "/s"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("when nobody listens: %v", err)
	}
}
