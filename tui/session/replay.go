package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/trace"
)

// replay is the session of a recording. It delivers the whole file as fast as it can be read. The state then shows
// any moment of it.
type replay struct {
	path   string
	header *trace.Header
	news   *queue
	stop   context.CancelFunc
	done   chan struct{}
}

// NewReplay begins a session with a recording, which it closes at its end. path names it for people.
func NewReplay(path string, r trace.Recording) Session {
	ctx, stop := context.WithCancel(context.Background())
	s := &replay{path: path, header: r.Header(), news: newQueue(), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer r.Close()
		s.read(ctx, r)
	}()
	return s
}

func (s *replay) File() string                           { return s.path }
func (s *replay) WatchClosely(string)                    {}
func (s *replay) Control() Control                       { return nil }
func (s *replay) Next(ctx context.Context) (News, error) { return s.news.next(ctx) }

// Close ends the reading.
func (s *replay) Close() {
	s.stop()
	<-s.done
}

// read delivers the whole file, or an error at the place from which on it cannot be read.
func (s *replay) read(ctx context.Context, r trace.Recording) {
	var about *trace.Header
	for {
		if h := r.Header(); h != about { // a record directory may have the stories of several agents
			about = h
			if s.news.put(ctx, News{Info: h.Info}) != nil {
				return
			}
		}
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			s.news.put(ctx, News{CaughtUp: true})
			return
		}
		if err != nil {
			s.news.put(ctx, News{CaughtUp: true, Fault: fmt.Errorf("%s: %w; what was read until there is shown", s.path, err)})
			return
		}
		if s.news.put(ctx, oneBatch(b)) != nil {
			return
		}
	}
}
