package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"google.golang.org/protobuf/proto"
)

// Version is the version of the format that is written. All versions up to it can be read.
const Version = 1

// magic begins the first line of a trace file. The version follows and ends the line.
const magic = "podstep trace "

// Header states what a trace is about.
type Header struct {
	// Podstep is the version of the program that wrote the trace.
	Podstep string
	// Began is when recording began.
	Began time.Time
	// Selection says in a person's words what was recorded; "" means all.
	Selection string
	// Info is what the agent reported about itself: the steps that events refer to, the kubelet's version, the node.
	Info *agentpb.InfoResponse
	// Segment is set if the trace is one of several that follow each other.
	Segment *Segment
}

// Segment states where a trace stands among others.
type Segment struct {
	// Run is the name of the agent's run: an agent that is started again has another.
	Run string `json:"run"`
	// Boot is the boot id of the node, and Clock what its CLOCK_BOOTTIME was, in nanoseconds, at Header.Began. Mono is
	// what the times of the agent's events counted from its start then.
	Boot  string `json:"boot,omitempty"`
	Clock int64  `json:"clockNs,omitempty"`
	Mono  int64  `json:"monoNs"`
	// After is the number of the last event before the segment. Those up to it were carried over from before.
	After uint64 `json:"after"`
}

// headerJSON is the payload of the header's block. Members that a later program adds are passed over.
type headerJSON struct {
	Podstep   string    `json:"podstep"`
	Began     time.Time `json:"began"`
	Selection string    `json:"selection,omitempty"`
	Info      []byte    `json:"info"` // agentpb.InfoResponse, encoded
	Segment   *Segment  `json:"segment,omitempty"`
}

// ErrNoTrace is the error for a file that is not a trace file at all.
var ErrNoTrace = errors.New("it is not a trace file of podstep")

// VersionError is the error for a trace file of a newer podstep.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("it is a trace file of version %d, and this podstep reads up to version %d; use a newer podstep", e.Version, Version)
}

func (h *Header) pack(p *packer) ([]byte, error) {
	info, err := proto.Marshal(h.Info)
	if err != nil {
		return nil, fmt.Errorf("encode trace header: %w", err)
	}
	if err := checkInfo(info); err != nil {
		return nil, fmt.Errorf("encode trace header: %w", err)
	}
	payload, err := json.Marshal(headerJSON{h.Podstep, h.Began, h.Selection, info, h.Segment})
	if err != nil {
		return nil, fmt.Errorf("encode trace header: %w", err)
	}
	first := magic + strconv.Itoa(Version) + "\n"
	return append([]byte(first), p.pack(block{kind: headerBlock}, payload)...), nil
}

// readVersion reads the first line.
func readVersion(r io.Reader) error {
	line := make([]byte, len(magic), len(magic)+4)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != magic {
		return noTrace(err)
	}
	for digit := []byte{0}; ; {
		if _, err := io.ReadFull(r, digit); err != nil {
			return noTrace(err)
		}
		if digit[0] == '\n' {
			break
		}
		if line = append(line, digit[0]); len(line) > len(magic)+4 {
			return ErrNoTrace
		}
	}
	version, err := strconv.Atoi(string(bytes.TrimPrefix(line, []byte(magic))))
	switch {
	case err != nil || version < 1:
		return ErrNoTrace
	case version > Version:
		return &VersionError{version}
	}
	return nil
}

// noTrace returns ErrNoTrace, or err if reading itself failed.
func noTrace(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrNoTrace
	}
	return err
}

func parseHeader(payload []byte) (*Header, error) {
	if len(payload) > maxHeader {
		return nil, tooMany(maxHeader, "bytes in its header")
	}
	var h headerJSON
	if err := json.Unmarshal(payload, &h); err != nil {
		return nil, fmt.Errorf("read trace header: %w", err)
	}
	if err := checkInfo(h.Info); err != nil {
		return nil, fmt.Errorf("read trace header: %w", err)
	}
	info := &agentpb.InfoResponse{}
	if err := proto.Unmarshal(h.Info, info); err != nil {
		return nil, fmt.Errorf("read trace header: %w", err)
	}
	addProbes(info)
	info.You = nil // the reader of a trace asked for none of its holds
	return &Header{h.Podstep, h.Began, h.Selection, info, h.Segment}, nil
}
