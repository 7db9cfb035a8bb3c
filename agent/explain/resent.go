package explain

import (
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// resends counts how often the kubelet has sent the version of the status that it sent last. The status manager only logs
// that the API server refused a status, so no call fails; but it sends a version again only as long as the API server does
// not have it (pkg/kubelet/status: (*manager).syncBatch).
type resends struct {
	evidence.Resent
	over bool // an older version has come, and it was sent quickly
}

// slowSend is how long it takes at least if the API server has no time for a status (429): the client asks ten times then,
// at least a second apart, and the kubelet may have a newer version afterwards.
const slowSend = 5 * time.Second

// add counts a call of the pod. The newest calls come first.
func (s *resends) add(r *reader, call *history.Call) {
	if s.over || !call.Ended || call.Step.Means().Role != probes.RoleSendStatus {
		return
	}
	if version, known := call.Number("version"); known {
		s.count(version, r.wall(call.Start), r.wall(call.End))
	} else {
		s.over = true
	}
}

// count counts a version that was sent.
func (s *resends) count(version int64, from, to time.Time) {
	older := s.Tries > 0 && version != s.Version
	switch {
	case s.over:
	case older && to.Sub(from) < slowSend:
		s.over = true
	case older:
		s.Slow, s.SlowSince = s.Slow+1, from
	default:
		if s.Tries == 0 {
			s.Version, s.Last = version, to
		}
		s.Tries, s.First = s.Tries+1, from
	}
}

// resent returns the version that was sent more than once, or after others that took long, or nil.
func (s *resends) resent() *evidence.Resent {
	if s.Tries+s.Slow < 2 {
		return nil
	}
	return &s.Resent
}
