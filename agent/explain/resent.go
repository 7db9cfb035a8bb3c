package explain

import (
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// resends counts how often the kubelet has sent the version of the status that it sent last. The status manager only logs
// that the API server refused a status, so no call fails; but it sends a version again only as long as the API server does
// not have it (pkg/kubelet/status: (*manager).syncBatch).
type resends struct {
	evidence.Resent
	over bool // an older version has come
}

// add counts a call of the pod. The newest calls come first.
func (s *resends) add(r *reader, call *history.Call) {
	if s.over || !call.Ended || call.Step.Means().Role != probes.RoleSendStatus {
		return
	}
	version, known := call.Number("version")
	if !known || s.Tries > 0 && version != s.Version {
		s.over = true
		return
	}
	s.First = r.wall(call.Start)
	if s.Tries == 0 {
		s.Version, s.Last = version, r.wall(call.End)
	}
	s.Tries++
}

// resent returns the version that was sent more than once, or nil.
func (s *resends) resent() *evidence.Resent {
	if s.Tries < 2 {
		return nil
	}
	return &s.Resent
}
