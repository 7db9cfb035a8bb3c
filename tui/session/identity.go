package session

import (
	"crypto/sha256"
	"fmt"

	"github.com/podstep/podstep/agent/trace"
)

// Identity is a name for what is in a trace file, which a copy of the file has too: when
// the recording began, and something made of whose and of what it is.
func Identity(path string) (string, error) {
	r, err := trace.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := r.Header()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %d %d", h.Began.UnixNano(), h.Selection, h.Info.GetNode(), h.Info.GetPid(), h.Info.GetStarted().AsTime().UnixNano()))
	return fmt.Sprintf("%s-%x", h.Began.UTC().Format("20060102-150405"), sum[:6]), nil
}
