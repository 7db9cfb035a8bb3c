package explain

import (
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// resent returns the version of the status that the kubelet sent last, if it has sent that version before. The status
// manager only logs that the API server refused a status, so no call fails; but it sends a version again only as long as
// the API server does not have it (pkg/kubelet/status: (*manager).syncBatch).
func (r *reader) resent() *evidence.Resent {
	var out evidence.Resent
	r.lastCall(probes.RoleSendStatus, func(call *history.Call) bool {
		version, known := call.Number("version")
		if !known || out.Tries > 0 && version != out.Version {
			return true
		}
		out.First = r.wall(call.Start)
		if out.Tries == 0 {
			out.Version, out.Last = version, r.wall(call.End)
		}
		out.Tries++
		return false
	})
	if out.Tries < 2 {
		return nil
	}
	return &out
}
