package trace

import "github.com/podstep/podstep/agent/agentpb"

// Recording is a story that was written down, such as a trace file.
type Recording interface {
	Header() *Header
	// Next returns the next events; after the last, io.EOF.
	Next() (*agentpb.Batch, error)
	Close() error
}
