package gather

import (
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/klog"
)

// parseEntry reads one entry of a kubelet's log, in either of its formats. now is in the zone of the kubelet's clock.
// Of the values it keeps only those that say whose the entry is, and the error: others may be what a container
// printed.
func parseEntry(text string, now time.Time) (evidence.Line, bool) {
	e, ok := klog.Parse(text, now)
	if !ok {
		return evidence.Line{}, false
	}
	return evidence.Line{
		At: e.Time, Level: string(e.Level), Where: e.Where, Message: e.Message, Error: e.First("err", "error"), Pod: e.Text("pod"),
		UID: e.First("podUID", "podUid", "uid"),
	}, true
}
