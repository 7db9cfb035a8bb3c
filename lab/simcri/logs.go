package simcri

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxLine is the longest line that is written in one piece, as with containerd.
const maxLine = 16 << 10

// logFile is a container's log, in the form that the kubelet reads:
//
//	2016-10-06T00:17:09.669794202Z stdout F a line
//	2016-10-06T00:17:09.669794202Z stdout P a piece of a long one
type logFile struct {
	path string // empty is no log
	tty  bool   // there is only stdout

	mu   sync.Mutex
	file *os.File
	rest map[string]*[]byte // what has no end of line yet, by stream
	tees map[*tee]struct{}
}

func (l *logFile) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("failed to create container loggers: failed to open log file: %w", err)
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, rest := range l.rest {
		if len(*rest) > 0 {
			l.line(name, *rest, "P")
		}
	}
	l.rest = nil
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// stream returns a writer for a process's stdout or stderr.
func (l *logFile) stream(name string) io.Writer {
	if l.tty {
		name = "stdout"
	}
	return logStream{l, name}
}

type logStream struct {
	log  *logFile
	name string
}

func (s logStream) Write(p []byte) (int, error) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.tees {
		if _, err := t.writer(s.name).Write(p); err != nil {
			t.broken()
		}
	}
	if l.rest == nil {
		l.rest = map[string]*[]byte{}
	}
	if l.rest[s.name] == nil {
		l.rest[s.name] = new([]byte)
	}
	rest := l.rest[s.name]
	for _, part := range bytes.SplitAfter(p, []byte("\n")) {
		*rest = append(*rest, part...)
		for len(*rest) > maxLine {
			l.line(s.name, (*rest)[:maxLine], "P")
			*rest = append([]byte(nil), (*rest)[maxLine:]...)
		}
		if line, whole := bytes.CutSuffix(*rest, []byte("\n")); whole {
			l.line(s.name, line, "F")
			*rest = nil
		}
	}
	return len(p), nil
}

// line writes one entry. A log that cannot be written does not stop a container.
func (l *logFile) line(stream string, text []byte, tag string) {
	if l.file != nil {
		fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, text)
	}
}

// tee is a second destination for what a container prints.
type tee struct {
	out, errOut io.Writer
	broken      func() // called when its reader has gone
}

func (t *tee) writer(stream string) io.Writer {
	if stream == "stderr" {
		return t.errOut
	}
	return t.out
}

// tee also copies to t what is printed from now on, until the context ends.
func (l *logFile) tee(ctx context.Context, t *tee) {
	l.mu.Lock()
	if l.tees == nil {
		l.tees = map[*tee]struct{}{}
	}
	l.tees[t] = struct{}{}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	delete(l.tees, t)
	l.mu.Unlock()
}

// ReopenContainerLog begins a new file after the old file was moved away.
func (s *Server) ReopenContainerLog(_ context.Context, r *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.containerByID(r.GetContainerId())
	if err != nil {
		return nil, err
	}
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, status.Error(codes.FailedPrecondition, "container is not running")
	}
	if err := c.log.open(); err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}
