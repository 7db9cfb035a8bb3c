package simcri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxMessage is the largest answer, as containerd has it.
const maxMessage = 16 << 20

// Server is the runtime. Its methods are the calls of the CRI.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	opts     Options
	listener net.Listener
	grpc     *grpc.Server
	streams  *streams
	claim    *claim
	scenario atomic.Pointer[Scenario]
	file     scenarioFile

	ctx    context.Context // of everything that outlives a call
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu         sync.Mutex // guards the fields below, and what they point to
	sandboxes  map[string]*sandbox
	containers map[string]*container
	names      map[string]string // of sandboxes and containers, to their ids
	images     map[string]*image // by id
	pulls      map[*pull]struct{}
	counts     counts
	addresses  *addresses
	watchers   map[*watcher]struct{}
}

// Listen opens the socket. Calls are answered once Serve runs.
func Listen(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	s := newServer(opts)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newServer(opts Options) *Server {
	s := &Server{
		opts:       opts,
		sandboxes:  map[string]*sandbox{},
		containers: map[string]*container{},
		names:      map[string]string{},
		images:     map[string]*image{},
		pulls:      map[*pull]struct{}{},
		counts:     counts{},
		watchers:   map[*watcher]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.scenario.Store(opts.Scenario)
	s.addPauseImage()
	return s
}

func (s *Server) open() error {
	if path := s.opts.ScenarioFile; path != "" {
		s.file.path = path
		if err := s.readScenario(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(s.containerDir("")); err != nil {
		return fmt.Errorf("remove the files of containers that are gone: %w", err)
	}
	if err := os.MkdirAll(s.imageDir(), 0o755); err != nil {
		return fmt.Errorf("make the runtime's directory: %w", err)
	}
	if err := s.openNetwork(); err != nil {
		return err
	}
	var err error
	if s.streams, err = listenStreams(s); err != nil {
		return err
	}
	if err := os.Remove(s.opts.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old socket: %w", err)
	}
	if s.listener, err = net.Listen("unix", s.opts.Socket); err != nil {
		return fmt.Errorf("listen for the kubelet: %w", err)
	}
	if err := os.Chmod(s.opts.Socket, 0o600); err != nil {
		return fmt.Errorf("close the socket to others: %w", err)
	}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.ChainUnaryInterceptor(s.takeTime),
		grpc.WaitForHandlers(true), // none starts a container behind Close
	)
	runtimeapi.RegisterRuntimeServiceServer(s.grpc, s)
	runtimeapi.RegisterImageServiceServer(s.grpc, s)
	return nil
}

// Serve answers calls until Close. It returns nil then.
func (s *Server) Serve() error {
	err := s.grpc.Serve(s.listener)
	if s.ctx.Err() != nil {
		return nil
	}
	return err
}

// Close ends the server, its calls, its containers and its ports, and waits for them.
func (s *Server) Close() error {
	s.cancel()
	if s.grpc != nil {
		s.grpc.Stop()
	} else if s.listener != nil {
		s.listener.Close()
	}
	if s.streams != nil {
		s.streams.close()
	}
	s.tasks.Wait()
	if s.claim != nil {
		s.claim.close()
	}
	if err := os.RemoveAll(s.containerDir("")); err != nil {
		return fmt.Errorf("remove the files of containers: %w", err)
	}
	return nil
}

// imageDir returns the directory that stands for the file system of images: the kubelet asks the machine how full
// that is.
func (s *Server) imageDir() string { return filepath.Join(s.opts.Root, "images") }

// containerDir returns the directory of a container's own files. The directory of "" has all of these.
func (s *Server) containerDir(id string) string { return filepath.Join(s.opts.Root, "containers", id) }
