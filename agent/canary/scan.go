package canary

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// FindBatch looks in a batch as an agent sends it: in its pods, and in its events, whose bytes have each text
// unchanged.
func (s *Set) FindBatch(b *agentpb.Batch) ([]Found, error) {
	raw, err := proto.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode batch: %w", err)
	}
	return s.Find(raw), nil
}

// FindTrace looks in the header and the events of a trace file. It returns how many events there were.
func (s *Set) FindTrace(path string) (found []Found, events uint64, err error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	found = s.FindString(fmt.Sprintf("%+v", *r.Header()))
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found, r.Events(), nil
		}
		if err != nil {
			return found, r.Events(), fmt.Errorf("read trace: %w", err)
		}
		more, err := s.FindBatch(b)
		if err != nil {
			return found, r.Events(), err
		}
		found = append(found, more...)
	}
}
