package tracetest

import (
	"errors"
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Read reads the whole trace at path: what the agent reported about itself, and the batches as they were written.
func Read(path string) (*agentpb.InfoResponse, []*agentpb.Batch, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var all []*agentpb.Batch
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header().Info, all, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read recording: %w", err)
		}
		all = append(all, b)
	}
}
