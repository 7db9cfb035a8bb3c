package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"

	"github.com/podstep/podstep/agent/peer"
)

// maxConnections bounds the clients at one time; more are turned away at once.
const maxConnections = 128

// Listen makes the agent's socket, for its owner only. A socket that nobody
// serves any more is replaced; one that is served is an error.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("make agent socket: %s exists and is not a socket; choose another with PODSTEP_SOCKET", path)
		}
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("make agent socket: another agent serves %s", path)
		}
	}
	// Under its final name the socket never has a mode but 0600.
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	_ = os.Remove(tmp)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(tmp, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(tmp)
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	return &socket{Listener: l, path: path, inode: inode(path)}, nil
}

// socket removes its file when closed, if it is still its own.
type socket struct {
	net.Listener
	path  string
	inode uint64
	once  sync.Once
}

func (s *socket) Close() error {
	s.once.Do(func() {
		if inode(s.path) == s.inode {
			_ = os.Remove(s.path)
		}
	})
	return s.Listener.Close()
}

func inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// limitListener bounds the connections, so that the kubelet's file descriptors
// and memory are safe from who opens thousands. When there are too many, the
// oldest that has not said a word makes room; when all speak, the new one goes.
type limitListener struct {
	net.Listener
	mu     sync.Mutex
	silent []*limitedConn // oldest first
	open   int
}

func newLimitListener(l net.Listener) *limitListener { return &limitListener{Listener: l} }

func (l *limitListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := l.admit(c); own != nil {
			return own, nil
		}
		_ = c.Close()
	}
}

func (l *limitListener) admit(c net.Conn) *limitedConn {
	own := &limitedConn{Conn: c, of: l}
	l.mu.Lock()
	var oldest *limitedConn
	if l.open >= maxConnections {
		if len(l.silent) == 0 {
			l.mu.Unlock()
			return nil
		}
		oldest = l.silent[0]
	}
	l.open++
	l.silent = append(l.silent, own)
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return own
}

// speaks takes a connection from the silent ones. The caller holds mu.
func (l *limitListener) speaks(c *limitedConn) {
	if i := slices.Index(l.silent, c); i >= 0 {
		l.silent = slices.Delete(l.silent, i, i+1)
	}
}

// limitedConn is a connection that counts.
type limitedConn struct {
	net.Conn
	of       *limitListener
	received atomic.Bool
	once     sync.Once
}

func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.received.CompareAndSwap(false, true) {
		c.of.mu.Lock()
		c.of.speaks(c)
		c.of.mu.Unlock()
	}
	return n, err
}

func (c *limitedConn) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open--
		c.of.speaks(c)
	})
	return c.Conn.Close()
}

// peerCredentials lets in root and the user that the agent runs as.
type peerCredentials struct{}

func (peerCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn := c
	if l, ok := c.(*limitedConn); ok {
		conn = l.Conn
	}
	client, err := peer.Of(conn)
	if err != nil {
		return nil, nil, err
	}
	if !peer.Trusted(client.Uid, os.Getuid()) {
		return nil, nil, fmt.Errorf("user %d may not speak to this agent", client.Uid)
	}
	return c, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, peerProcess{client.Uid, client.Pid}}, nil
}

func (peerCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("peer credentials are for servers")
}

func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peercred"}
}
func (peerCredentials) Clone() credentials.TransportCredentials { return peerCredentials{} }
func (peerCredentials) OverrideServerName(string) error         { return nil }

type peerInfo struct {
	credentials.CommonAuthInfo
	peer peerProcess
}

func (peerInfo) AuthType() string { return "peercred" }
