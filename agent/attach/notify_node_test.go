//go:build node

package attach_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
)

// TestNotify: systemd, or another program that started podstep, is notified when podstep is attached.
func TestNotify(t *testing.T) {
	l := shared.For(t)
	socket := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	a := l.Attach()
	if err := c.SetReadDeadline(time.Now().Add(labtest.Patience)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 100)
	n, err := c.Read(text)
	if err != nil || string(text[:n]) != "READY=1" {
		t.Errorf("notified of %q, %v", text[:n], err)
	}
	a.End(syscall.SIGINT)
}
