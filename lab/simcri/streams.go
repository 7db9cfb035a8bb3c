package simcri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"
)

// streams serves exec, attach and port-forward by the kubelet's own library, on a loopback port that the kubelet
// learns from the answers.
type streams struct {
	server   streaming.Server
	http     *http.Server
	serving  sync.WaitGroup
	listener net.Listener
}

func listenStreams(s *Server) (*streams, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for streams: %w", err)
	}
	config := streaming.DefaultConfig
	config.Addr = l.Addr().String()
	config.BaseURL = &url.URL{Scheme: "http", Host: config.Addr}
	st := &streams{listener: l}
	if st.server, err = streaming.NewServer(config, streamer{s}); err != nil {
		l.Close()
		return nil, fmt.Errorf("make the streaming server: %w", err)
	}
	st.http = &http.Server{Handler: st.server, BaseContext: func(net.Listener) context.Context { return s.ctx }}
	st.serving.Go(func() {
		if err := st.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Log.Error("exec and port-forward have ended", "error", err)
		}
	})
	return st, nil
}

func (st *streams) close() {
	st.http.Close()
	st.serving.Wait()
}

// Exec prepares a stream for a command. Attach and PortForward do the same for theirs.
func (s *Server) Exec(_ context.Context, r *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := s.running(r.GetContainerId()); err != nil {
		return nil, err
	}
	return s.streams.server.GetExec(r)
}

// Attach prepares a stream of what a container prints.
func (s *Server) Attach(_ context.Context, r *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	if _, err := s.running(r.GetContainerId()); err != nil {
		return nil, err
	}
	return s.streams.server.GetAttach(r)
}

// PortForward prepares streams to the ports of a pod.
func (s *Server) PortForward(_ context.Context, r *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	s.mu.Lock()
	b, err := s.sandboxByID(r.GetPodSandboxId())
	if err == nil && b.state != runtimeapi.PodSandboxState_SANDBOX_READY {
		err = status.Errorf(codes.Unknown, "sandbox container %q is not running", b.id)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.streams.server.GetPortForward(r)
}

// streamer runs the streams for the streaming server.
type streamer struct{ s *Server }

// Exec runs a command for a person.
func (st streamer) Exec(ctx context.Context, id string, argv []string, in io.Reader, out, errOut io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	t, err := st.s.running(id)
	if err != nil {
		return err
	}
	to, errTo := shared(out, tty), shared(errOut, false)
	if errOut == nil {
		errTo = to
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	defer endWith(ctx, in, out, errOut)()
	if tty && in != nil {
		in = newTerminal(in, to)
	}
	code, err := st.s.exec(ctx, t, argv, in, to, errTo)
	if err == nil && code != 0 {
		return exec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: int(code)}
	}
	return err
}

// endWith ends reads from streams, and writes to them, with the context: a read that waits for a key, or a write that
// waits for a reader, must not wait for ever.
func endWith(ctx context.Context, streams ...any) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		for _, s := range streams {
			if stream, ok := s.(interface{ Reset() error }); ok {
				stream.Reset()
			}
		}
	})
}

// Attach copies what the container prints to the client, and what the client types to the container, until the
// container ends or the client has gone.
func (st streamer) Attach(ctx context.Context, id string, in io.Reader, out, errOut io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	t, err := st.s.running(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	defer endWith(ctx, in, out, errOut)()
	to := shared(out, tty)
	if tty && in != nil {
		in = newTerminal(in, to)
	}
	if in != nil && t.stdin != nil {
		go func() {
			io.Copy(t.stdin, in)
			if t.config.GetStdinOnce() {
				t.stdin.Close()
			}
		}()
	}
	t.c.log.tee(ctx, &tee{to, shared(errOut, false), cancel})
	return nil
}

// PortForward connects a stream with a port of the pod.
func (st streamer) PortForward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	st.s.mu.Lock()
	b, err := st.s.sandboxByID(id)
	address := ""
	if err == nil {
		address = st.s.addressOf(b)
	}
	st.s.mu.Unlock()
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("failed to connect to port %d of the pod: %w", port, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		io.Copy(conn, stream)
		conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}

// lockedWriter lets several goroutines write; on a terminal, lines begin at the left.
type lockedWriter struct {
	mu  sync.Mutex
	w   io.Writer
	tty bool
}

func shared(w io.Writer, tty bool) io.Writer {
	if w == nil {
		return io.Discard
	}
	return &lockedWriter{w: w, tty: tty}
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.tty {
		return l.w.Write(p)
	}
	for i, line := range bytes.Split(p, []byte("\n")) {
		if i > 0 {
			if _, err := l.w.Write([]byte("\r\n")); err != nil {
				return 0, err
			}
		}
		if _, err := l.w.Write(line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
