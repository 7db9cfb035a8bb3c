package past

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Store is where segments are: a Dir, or the directory of an Agent.
type Store interface {
	// String is its name in messages.
	String() string
	// survey returns the segments. Their indexes list the pods that are selected, or more. A segment of which nothing can
	// be read is left out, with a note.
	survey(pods *agentpb.PodSelector) (out []*part, notes []string, err error)
	// open opens a segment. The error is fs.ErrNotExist if it was deleted meanwhile.
	open(p *part) (trace.Recording, error)
	// written reports whether podstep writes to it now.
	written() bool
}

// Dir is a record directory of this machine.
type Dir string

func (d Dir) String() string { return string(d) }

func (d Dir) written() bool { return isWritten(string(d)) }

func (d Dir) open(p *part) (trace.Recording, error) {
	return trace.Open(filepath.Join(string(d), p.name))
}

func (d Dir) survey(*agentpb.PodSelector) (out []*part, notes []string, err error) {
	files, err := list(string(d))
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		x, torn, err := readIndex(f.path)
		var fault *trace.Fault
		switch {
		case errors.Is(err, os.ErrNotExist):
		case errors.As(err, &fault) && fault.Unfinished, err != nil && f.size == 0:
			// It was begun a moment before its writer ended.
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is left out: %v", f.path, err))
		default:
			out = append(out, &part{name: filepath.Base(f.path), number: f.number, index: x, torn: torn})
		}
	}
	return out, notes, nil
}

// Segments returns the segments as an agent sends them to its clients.
func (d Dir) Segments(pods *agentpb.PodSelector) (out []*agentpb.Segment, err error) {
	parts, notes, err := d.survey(pods)
	if err != nil {
		return nil, fmt.Errorf("list the record directory: %w", err)
	}
	for _, note := range notes {
		out = append(out, &agentpb.Segment{Note: note})
	}
	for _, p := range parts {
		text, err := p.only(pods).encode()
		if err != nil {
			return nil, err
		}
		out = append(out, &agentpb.Segment{Name: p.name, Index: text, Torn: p.torn})
	}
	return out, nil
}

// pieceSize is how much of a segment is sent at a time, in bytes.
const pieceSize = 64 << 10

// Read calls send with the bytes of a segment, as far as it is written.
func (d Dir) Read(name string, send func([]byte) error) error {
	if !fileName.MatchString(name) {
		return fmt.Errorf("read segment %q: %w", name, os.ErrNotExist)
	}
	f, err := openSegment(filepath.Join(string(d), name))
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	defer f.Close()
	for {
		piece := make([]byte, pieceSize) // gRPC may keep it
		n, err := f.Read(piece)
		if n > 0 {
			if err := send(piece[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
	}
}

// openSegment opens a file for reading, and nothing else that may have its name.
func openSegment(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrNotExist
	}
	return os.Open(path)
}
