package simcri

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// watcher is a client of GetContainerEvents.
type watcher struct {
	events chan *runtimeapi.ContainerEventResponse
	lost   chan struct{} // closed when the client was too slow
}

// watcherQueue is how many events a client may be behind.
const watcherQueue = 4096

// sendEvent sends an event to the watchers, with the pod as it is now. s.mu is held.
func (s *Server) sendEvent(b *sandbox, id string, kind runtimeapi.ContainerEventType) {
	if len(s.watchers) == 0 {
		return
	}
	e := &runtimeapi.ContainerEventResponse{
		ContainerId: id, ContainerEventType: kind, CreatedAt: time.Now().UnixNano(), PodSandboxStatus: s.sandboxStatus(b),
	}
	for _, c := range s.containersOf(b) {
		e.ContainersStatuses = append(e.ContainersStatuses, s.containerStatus(c))
	}
	for w := range s.watchers {
		select {
		case w.events <- e:
		default:
			delete(s.watchers, w)
			close(w.lost)
		}
	}
}

// GetContainerEvents streams what happens to sandboxes and containers. A client
// that falls behind loses its stream, and has to list.
func (s *Server) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	w := &watcher{events: make(chan *runtimeapi.ContainerEventResponse, watcherQueue), lost: make(chan struct{})}
	s.mu.Lock()
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()
	for {
		select {
		case e := <-w.events:
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-w.lost:
			return status.Error(codes.ResourceExhausted, "the client is too slow: events were lost")
		case <-stream.Context().Done():
			return nil
		case <-s.ctx.Done():
			return status.Error(codes.Unavailable, "the runtime is stopping")
		}
	}
}
