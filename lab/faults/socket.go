package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxMessage is the largest message of a kubelet, a runtime or a plugin.
const maxMessage = 16 << 20

// Socket stands in the place of what the kubelet calls by a socket, and passes calls on to it: a container runtime, or a
// plugin.
type Socket struct {
	table    *Table
	side     Side
	listener net.Listener
	server   *grpc.Server
	behind   *grpc.ClientConn
}

// ListenSocket opens a socket for the kubelet. The socket behind it need not exist yet.
func ListenSocket(t *Table, side Side, socket, behind string) (*Socket, error) {
	conn, err := grpc.NewClient("unix://"+behind, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", behind, err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for calls to %s: %w", behind, err), conn.Close())
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), listener.Close(), conn.Close())
	}
	s := &Socket{table: t, side: side, listener: listener, behind: conn}
	s.server = grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(s.handle),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	return s, nil
}

// Serve passes calls on until Close.
func (s *Socket) Serve() error { return s.server.Serve(s.listener) }

// Close ends all calls.
func (s *Socket) Close() error {
	s.server.Stop()
	return s.behind.Close()
}

// frames is a codec for messages that stay encoded.
type frames struct{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("encode %T: it is no message", v)
	}
	return *b, nil
}

func (frames) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("decode %T: it is no message", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}

// handle passes on a call of any method. A call has one request, and one answer or a stream of them.
func (s *Socket) handle(_ any, kubelet grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(kubelet)
	var request []byte
	if err := kubelet.RecvMsg(&request); err != nil {
		return err
	}
	c := s.decode(name, request)
	rule, lifted := c.strike()
	if rule == nil {
		return s.pass(kubelet, name, request, func(answer []byte) ([]byte, error) {
			c.learn(answer)
			return answer, nil
		})
	}
	switch rule.Action {
	case Hang:
		<-either(kubelet.Context(), lifted)
		return status.Error(codes.Unavailable, rule.Text)
	case Late:
		pause(kubelet.Context(), lifted, LateBy)
	case Empty:
		var nothing []byte
		return kubelet.SendMsg(&nothing)
	case Lost:
		_ = s.pass(lostStream{kubelet}, name, request, func(answer []byte) ([]byte, error) { c.learn(answer); return answer, nil })
		return status.Error(codes.Unavailable, rule.Text+": the connection broke before the answer came")
	case Wrong:
		return s.pass(kubelet, name, request, func(answer []byte) ([]byte, error) { c.learn(answer); return c.contradict(answer) })
	default:
		return status.Error(code(rule.Action), rule.Text)
	}
	return s.pass(kubelet, name, request, func(answer []byte) ([]byte, error) { c.learn(answer); return answer, nil })
}

// lostStream drops the answers.
type lostStream struct{ grpc.ServerStream }

func (lostStream) SendMsg(any) error { return nil }

// pass passes a request on, and each answer back as change returns it.
func (s *Socket) pass(kubelet grpc.ServerStream, name string, request []byte, change func([]byte) ([]byte, error)) error {
	ctx, cancel := context.WithCancel(kubelet.Context())
	defer cancel()
	behind, err := s.behind.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, name)
	if err != nil {
		return err
	}
	if err := behind.SendMsg(&request); err != nil && !errors.Is(err, io.EOF) {
		return err // of io.EOF, RecvMsg has the reason
	}
	if err := behind.CloseSend(); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := behind.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if answer, err = change(answer); err != nil {
			return err
		}
		if err := kubelet.SendMsg(&answer); err != nil {
			return err
		}
	}
}

// code returns the code of gRPC with the action's name.
func code(a Action) codes.Code {
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == string(a) {
			return c
		}
	}
	return codes.Unknown
}

// either returns a channel that is closed when ctx ends or a rule is lifted.
func either(ctx context.Context, lifted <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-lifted:
		}
	}()
	return done
}

// pause waits, unless ctx ends or the rule is lifted before.
func pause(ctx context.Context, lifted <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-lifted:
	}
}

// decode makes a call of a request.
func (s *Socket) decode(name string, request []byte) *call {
	c := &call{table: s.table, side: s.side, method: path.Base(name)}
	c.request, c.answer = messages(name)
	if c.request == nil || proto.Unmarshal(request, c.request) != nil {
		c.request = nil
	}
	c.of = c.about()
	return c
}
