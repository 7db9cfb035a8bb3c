package logstory

import (
	"errors"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Recording is a story that was written down: a trace, or logs.
type Recording interface {
	Header() *trace.Header
	// Next returns the next events; after the last, io.EOF.
	Next() (*agentpb.Batch, error)
	Close() error
}

// OpenAny opens a trace file, or logs. Of several files all have to be logs.
func OpenAny(names []string, o Options) (Recording, error) {
	if len(names) == 1 && names[0] != Stdin {
		r, err := trace.Open(names[0])
		if !errors.Is(err, trace.ErrNoTrace) {
			if err != nil {
				return nil, err
			}
			return r, nil
		}
	}
	return Open(names, o)
}
