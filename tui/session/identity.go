package session

import (
	"crypto/sha256"
	"fmt"

	"github.com/podstep/podstep/agent/trace"
)

// Identity returns a name for the recording in a trace file, which is the same for a copy of the file.
func Identity(path string) (string, error) {
	r, err := trace.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return identityOf(r.Header()), nil
}

// IdentityOf returns a name for the recording that a session shows, as Identity does.
func IdentityOf(s Session) (string, error) {
	if r, ok := s.(*replay); ok {
		return identityOf(r.header), nil
	}
	return Identity(s.File())
}

// identityOf returns the time when the recording began, and a checksum of what was recorded and of which agent.
func identityOf(h *trace.Header) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %d %d", h.Began.UnixNano(), h.Selection, h.Info.GetNode(), h.Info.GetPid(), h.Info.GetStarted().AsTime().UnixNano()))
	return fmt.Sprintf("%s-%x", h.Began.UTC().Format("20060102-150405"), sum[:6])
}
