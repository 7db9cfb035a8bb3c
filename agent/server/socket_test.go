package server

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/podstep/podstep/agent/agentpb"
)

// counts answers how many connections there are.
type counts struct {
	agentpb.UnimplementedAgentServer
}

func (counts) Stats(ctx context.Context, _ *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	return &agentpb.StatsResponse{Connections: int32(Connections(ctx))}, nil
}

// TestManyConnections: a client that opens more connections than there is room for, and sends nothing, does not keep
// others out.
func TestManyConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := Serve(counts{}, l, Access{})
	t.Cleanup(srv.Stop)
	for range 3 * maxConnections {
		c, err := net.Dial("unix", path)
		if errors.Is(err, unix.EAGAIN) {
			continue // the kernel turned this one away
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	st, err := agentpb.NewAgentClient(conn).Stats(t.Context(), &agentpb.StatsRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if st.Connections < 1 || st.Connections > maxConnections {
		t.Errorf("%d connections are open, want at most %d, and this one", st.Connections, maxConnections)
	}
}

func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v; want mode 0600", fi, err)
	}
	if _, err := Listen(path); err == nil {
		t.Error("a socket that is served was taken over")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error("the socket is left")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("a file was taken for a socket")
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("the file is lost")
	}
}
