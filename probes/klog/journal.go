package klog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// FromJournal reads an entry of a journal as journalctl -o json writes it: what a program wrote, and when. A message is
// a text, or bytes if it is not one.
func FromJournal(line string) (text string, at time.Time, ok bool) {
	if !strings.Contains(line, `"__REALTIME_TIMESTAMP"`) {
		return "", at, false
	}
	var j struct {
		At      string          `json:"__REALTIME_TIMESTAMP"` // microseconds
		Message json.RawMessage `json:"MESSAGE"`
	}
	if json.Unmarshal([]byte(line), &j) != nil {
		return "", at, false
	}
	micro, err := strconv.ParseInt(j.At, 10, 64)
	if err != nil {
		return "", at, false
	}
	if json.Unmarshal(j.Message, &text) != nil {
		var numbers []uint16
		if json.Unmarshal(j.Message, &numbers) != nil {
			return "", at, false
		}
		raw := make([]byte, len(numbers))
		for i, n := range numbers {
			raw[i] = byte(n)
		}
		text = string(raw)
	}
	return text, time.UnixMicro(micro).UTC(), true
}

// AfterSyslog returns what a kubelet or a runtime wrote, without the date, host, program and process with which a
// journal begins its lines.
func AfterSyslog(line string) string {
	const maxPrefix = 256
	if _, own := ReadHeader(line); own || strings.HasPrefix(line, `time="`) || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ") {
		return line
	}
	if i := strings.Index(line[:min(len(line), maxPrefix)], "]: "); i > 0 {
		return line[i+len("]: "):]
	}
	return line
}

// SyslogTime returns the time with which a line of journalctl -o short-precise --utc begins, as a kubelet asks for it;
// the zero time: it begins with none, or with one in seconds, which is less exact than that of the text. The year is the
// latest with which the time is not more than a day after now.
func SyslogTime(line string, now time.Time) time.Time {
	if len(line) < len(time.StampMicro) {
		return time.Time{}
	}
	at, err := time.Parse(time.StampMicro, line[:len(time.StampMicro)])
	if err != nil {
		return time.Time{}
	}
	now = now.UTC()
	at = at.AddDate(now.Year(), 0, 0)
	if at.After(now.Add(24 * time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at
}
