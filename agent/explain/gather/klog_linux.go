package gather

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/redact"
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

// textOf returns a value that is a text, or an object's name and namespace.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct{ Name, Namespace string }
	if json.Unmarshal(raw, &o) == nil && o.Name != "" {
		return o.Namespace + "/" + o.Name
	}
	return ""
}

// journal chooses lines of journalctl's JSON: each line is one entry of the journal. Its
// message is a text, or bytes if it is not one.
func (f *filter) journal(text []byte) []evidence.Line {
	c := chosen{filter: f, now: time.Now()}
	for line := range bytes.Lines(text) {
		var j struct {
			At      string          `json:"__REALTIME_TIMESTAMP"` // microseconds
			Message json.RawMessage `json:"MESSAGE"`
		}
		if json.Unmarshal(line, &j) != nil {
			continue
		}
		micro, err := strconv.ParseInt(j.At, 10, 64)
		if err != nil {
			continue
		}
		message := textOf(j.Message)
		var raw []byte
		var numbers []uint8
		if message == "" && json.Unmarshal(j.Message, &numbers) == nil {
			raw = numbers
			message = string(raw)
		}
		c.addLine(message, time.UnixMicro(micro).UTC())
	}
	return c.finish()
}

// logged returns a text of a log as it may be shown.
func logged(text string) string { return message(redact.Logged(text)) }
