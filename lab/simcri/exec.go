package simcri

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/lab/simcri/ash"
)

// prompt is the prompt of a root shell.
const prompt = "/ # "

// maxOutput bounds what ExecSync returns of each stream, as containerd does.
const maxOutput = 16 << 20 / 2

// running returns the task of a container that runs, or an error.
func (s *Server) running(id string) (*task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.containerByID(id)
	if err != nil {
		return nil, err
	}
	if c.task == nil {
		return nil, status.Errorf(codes.Unknown, "failed to exec in container: container is in %s state", c.state)
	}
	return c.task, nil
}

// ExecSync runs a command in a container: health probes and hooks use it.
func (s *Server) ExecSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	t, err := s.running(r.GetContainerId())
	if err != nil {
		return nil, err
	}
	if len(r.GetCmd()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "exec needs a command")
	}
	timeout := time.Duration(r.GetTimeout()) * time.Second
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var out, errOut output
	code, err := s.exec(ctx, t, r.GetCmd(), nil, &out, &errOut)
	if err != nil {
		return nil, status.Errorf(codes.DeadlineExceeded, "failed to exec in container: timeout %v exceeded: %v", timeout, context.DeadlineExceeded)
	}
	if code == 0 && !understood(r.GetCmd()) {
		errOut.buf.Reset() // nobody reads the output of a health probe that succeeds
	}
	return &runtimeapi.ExecSyncResponse{ExitCode: code, Stdout: out.buf.Bytes(), Stderr: errOut.buf.Bytes()}, nil
}

// output keeps the first maxOutput bytes that are written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), maxOutput-o.buf.Len())])
	return len(p), nil
}

// exec runs a command for as long as the context and the container allow. Its error is the context's. A command that
// ends by itself has an exit code.
func (s *Server) exec(ctx context.Context, t *task, argv []string, in io.Reader, out, errOut io.Writer) (int32, error) {
	runs, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	b := t.c.behaviour
	if pass(runs, b.execDelay) != nil {
		return ash.Killed, ctx.Err()
	}
	if b.execOutput != "" {
		fmt.Fprintln(out, b.execOutput)
	}
	if b.execExits {
		return b.execExit, nil
	}
	program, err := ash.Parse(argv)
	if err != nil {
		return t.pretend(argv, errOut), nil
	}
	s.mu.Lock()
	address := s.addressOf(t.c.sandbox)
	s.mu.Unlock()
	env := s.environment(t, address, out, errOut)
	env.Stdin = in
	if tty, ok := in.(*terminal); ok {
		env.Prompt, env.Interrupt = prompt, tty.begin
	}
	code := ash.Start(runs, program, env).Wait()
	return int32(code), ctx.Err()
}

// pretend answers for a command that is not understood: it succeeds if the container is ready.
func (t *task) pretend(argv []string, errOut io.Writer) int32 {
	fmt.Fprintf(errOut, "simcri: no process runs here; %q is taken for a program that ", strings.Join(argv, " "))
	if t.ready() {
		fmt.Fprintln(errOut, "succeeds")
		return 0
	}
	fmt.Fprintln(errOut, "fails")
	return 1
}

func understood(argv []string) bool {
	_, err := ash.Parse(argv)
	return err == nil
}
