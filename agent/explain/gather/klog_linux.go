package gather

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/redact"
)

// parseEntry reads one entry of a kubelet's log, in either of its formats. now is in the zone
// of the kubelet's clock.
func parseEntry(text string, now time.Time) (evidence.Line, bool) {
	if strings.HasPrefix(text, "{") {
		return parseJSON(text)
	}
	return parseKlog(text, now)
}

// klogHeader begins an entry, such as
//
//	E1122 14:44:49.949469   27384 configmap.go:193] "Error syncing pod" err="..."
var klogHeader = regexp.MustCompile(`^([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9})\s+\d+ ([^\s\]]{1,200}:\d+)\] ?`)

func parseKlog(text string, now time.Time) (e evidence.Line, ok bool) {
	m := klogHeader.FindStringSubmatch(text)
	if m == nil {
		return e, false
	}
	e.Level, e.Where, e.At = m[1], m[8], klogTime(m, now)
	rest := text[len(m[0]):]
	message, values, structured := quotedText(rest)
	if !structured {
		e.Message = rest
		return e, true
	}
	e.Message = message
	for values != "" {
		var key, value string
		if key, value, values = nextValue(values); key != "" {
			setValue(&e, key, value)
		}
	}
	return e, true
}

// klogTime returns the time of an entry. The entry has no year: it is from the last twelve months.
func klogTime(m []string, now time.Time) time.Time {
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v }
	nano, _ := strconv.Atoi((m[7] + "000000000")[:9])
	at := time.Date(now.Year(), time.Month(n(2)), n(3), n(4), n(5), n(6), nano, now.Location())
	if at.After(now.Add(24 * time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at.UTC()
}

// quotedText reads a text in quotes, and what comes after it.
func quotedText(s string) (text, rest string, ok bool) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil || !strings.HasPrefix(s, `"`) {
		return "", s, false
	}
	text, err = strconv.Unquote(q)
	return text, s[len(q):], err == nil
}

// nextValue reads one key=value. A value may be in quotes, have several lines between
// "=<" and ">", or be anything else up to the next space.
func nextValue(s string) (key, value, rest string) {
	s = strings.TrimLeft(s, " \t\n")
	i := strings.IndexByte(s, '=')
	if i <= 0 || strings.ContainsAny(s[:i], " \n\"") {
		_, rest, _ = strings.Cut(s, " ")
		return "", "", rest
	}
	key, s = s[:i], s[i+1:]
	if lines, ok := strings.CutPrefix(s, "<\n"); ok {
		value, rest, _ = strings.Cut(lines, "\n >")
		return key, strings.ReplaceAll(strings.TrimPrefix(value, "\t"), "\n\t", "\n"), rest
	}
	if value, rest, ok := quotedText(s); ok {
		return key, value, rest
	}
	value, rest, _ = strings.Cut(s, " ")
	return key, value, rest
}

// setValue sets the part of an entry that keeps this value, if any does. Other values may be
// what a container printed.
func setValue(e *evidence.Line, key, value string) {
	switch key {
	case "err", "error":
		e.Error = value
	case "pod":
		e.Pod = value
	case "podUID", "podUid", "uid":
		e.UID = value
	}
}

// parseJSON reads an entry in the format of --logging-format=json. There informative entries
// have a level, and errors have none.
func parseJSON(text string) (e evidence.Line, ok bool) {
	var j struct {
		TS     json.Number     `json:"ts"` // milliseconds
		Caller string          `json:"caller"`
		Msg    *string         `json:"msg"`
		V      *int            `json:"v"`
		Err    json.RawMessage `json:"err"`
		Pod    json.RawMessage `json:"pod"`
		PodUID json.RawMessage `json:"podUID"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&j) != nil || j.Msg == nil {
		return e, false
	}
	ms, err := j.TS.Float64()
	if err != nil || ms < 0 || ms > 1e15 {
		return e, false
	}
	e.Level, e.At, e.Where, e.Message = "I", time.UnixMicro(int64(ms*1000)).UTC(), j.Caller, *j.Msg
	if j.V == nil {
		e.Level = "E"
	}
	e.Error, e.Pod, e.UID = textOf(j.Err), textOf(j.Pod), textOf(j.PodUID)
	return e, true
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

// hookOutput matches the part of an error that repeats a hook's command, and what it printed.
var hookOutput = regexp.MustCompile(`(?s)(command '|message: |lifecycle hook \().*`)

// logged redacts a text of a log. The errors of hooks repeat what a container printed.
func logged(text string) string {
	if strings.Contains(text, "probe failed:") || strings.Contains(text, "probe warning:") {
		if shown, ok := redact.Probe(text); ok {
			text = shown
		}
	}
	if m := hookOutput.FindStringIndex(text); m != nil && strings.Contains(text, "exited with") {
		text = text[:m[0]] + redact.Redacted
	}
	return message(text)
}
