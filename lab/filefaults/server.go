package filefaults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// most is how many operations are decided at one time. What comes while they all hang is let through.
const most = 1024

// Server decides on the file operations of the processes that offer them at its socket. Its methods may be called from any
// goroutine.
type Server struct {
	socket *net.UnixListener
	ctx    context.Context // ends with Close
	end    context.CancelFunc
	slots  chan struct{} // one element for each operation that is being decided
}

// Listen opens a socket, mode 0600, at which processes can offer. It fails if the path exists.
func Listen(socket string) (*Server, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// The file gets its mode from the socket, and has it from its first moment on.
		var failed error
		err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}}
	l, err := config.Listen(context.Background(), "unixpacket", socket)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	return &Server{socket: l.(*net.UnixListener), ctx: ctx, end: end, slots: make(chan struct{}, most)}, nil
}

// Serve takes what processes offer, any number of them, and decides on their operations until Close, when it returns nil.
func (s *Server) Serve(decide Decide) error {
	for {
		conn, err := s.socket.AcceptUnix()
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("take offer: %w", err)
		}
		go s.take(conn, decide)
	}
}

// Close closes the socket, and lets everything that hangs go on. What a process does later passes without being decided:
// the server still lets it through until the process has ended, because the kernel would fail it otherwise.
func (s *Server) Close() error {
	s.end()
	if err := s.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close socket: %w", err)
	}
	return nil
}

// take receives the listener of a process and serves it until the process has ended. What goes wrong before, the process
// gets to know from Offer.
func (s *Server) take(conn *net.UnixConn, decide Decide) {
	file, err := receive(conn)
	if err != nil {
		return
	}
	l := &listener{server: s, decide: decide, file: file, waiting: map[uint64]context.CancelFunc{}}
	l.serve()
}

// receive takes the listener from a process.
func receive(conn *net.UnixConn) (*listenerFile, error) {
	defer conn.Close()
	// Not even Close ends this sooner: a process that has its answer installs the filter, and must get rid of its listener.
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, fmt.Errorf("limit time of offer: %w", err)
	}
	if err := tryRead(conn); err != nil {
		return nil, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, fmt.Errorf("receive listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive listener: %d messages: %w", len(messages), errors.Join(err, unix.EPROTO))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("receive listener: %d files: %w", len(fds), errors.Join(err, unix.EPROTO))
	}
	return newListenerFile(fds[0])
}
