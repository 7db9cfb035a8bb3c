package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/trace"
)

// replay is the session of a trace file. It delivers the whole file as fast as it can be read. The state then shows
// any moment of it.
type replay struct {
	path string
	news *queue
	stop context.CancelFunc
	done chan struct{}
}

// NewReplay opens a session with a trace file.
func NewReplay(path string) (Session, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &replay{path: path, news: newQueue(), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer r.Close()
		s.read(ctx, r)
	}()
	return s, nil
}

func (s *replay) File() string                           { return s.path }
func (s *replay) Control() Control                       { return nil }
func (s *replay) Next(ctx context.Context) (News, error) { return s.news.next(ctx) }

// Close ends the reading.
func (s *replay) Close() {
	s.stop()
	<-s.done
}

// read delivers the whole file, or an error at the place from which on it cannot be read.
func (s *replay) read(ctx context.Context, r *trace.Reader) {
	if s.news.put(ctx, News{Info: r.Header().Info}) != nil {
		return
	}
	for {
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
