package gather

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/klog"
)

const (
	// logSince is how far back the log is read.
	logSince = 10 * time.Minute
	// maxLines bounds how many lines are kept: the last ones.
	maxLines = 200
	// maxEntry bounds one entry of a log, in bytes.
	maxEntry = 16 << 10
)

// filter chooses the lines of a log.
type filter struct {
	of    *Subject
	since time.Time
}

// ofTheNode are messages about the whole node that rules look for.
var ofTheNode = regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
	`Skipping pod synchronization`, `Container runtime`, `Eviction manager`, `Housekeeping took`, `Node (?:became|not becoming)`,
	`Error (?:updating|getting) .*node`, `Unable to (?:update|register|read config)`, `Failed to (?:update lease|ensure lease|contact API server|watch|list)`,
	`Unhandled Error`, `Could not process manifest`, `Failed (?:creating|deleting) a? ?mirror pod`, `(?:Image|Container) garbage collection failed`,
	`Shutdown manager`, `Starting kubelet`, `Kubelet (?:failed|stopped)`, `Failed to (?:start|initialize)`, `GenericPLEG`, `PLEG`, `No need to create a mirror pod`,
	`SyncLoop \(probe\)|SyncLoop \(PLEG\): ignore`, `Use of .* too long`, `Allocate failed`, `Device plugin`, `Failed (?:to provide credentials|getting credential)`,
}, "|") + `)`)

// keep reports whether a line is kept: one of the pod, or of the whole node.
func (f *filter) keep(e *evidence.Line, text string) bool {
	if e.At.Before(f.since) {
		return false
	}
	if uid := f.of.Kubelet.UID; uid != "" && (e.UID == uid || strings.Contains(text, uid)) {
		e.UID, e.Pod = f.of.Name.UID, f.of.Name.String()
		return true
	}
	if name := f.of.Name.String(); e.Pod == name || hasWord(text, name) {
		// An earlier pod of the same name has another UID.
		if e.UID != "" && f.of.Kubelet.UID != "" {
			return false
		}
		e.Pod = name
		return true
	}
	return e.Pod == "" && e.UID == "" && ofTheNode.MatchString(e.Message)
}

// hasWord reports whether a text has a name that is not part of a longer one.
func hasWord(text, name string) bool {
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return false
		}
		if (i == 0 || !inName(text[i-1])) && (i+len(name) == len(text) || !inName(text[i+len(name)])) {
			return true
		}
		text = text[i+1:]
	}
}

func inName(c byte) bool {
	return c == '-' || c == '.' || c == '/' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}

// lines chooses lines of a text: those that the kubelet wrote, or the entries of a journal. The kubelet's clock has
// the zone.
func (f *filter) lines(text []byte, zone *time.Location) []evidence.Line {
	var out []evidence.Line
	now := time.Now().In(zone)
	eachEntry(text, func(entry string, at time.Time) {
		e, ok := f.line(entry, at, now)
		if !ok {
			return
		}
		if out = append(out, e); len(out) > 2*maxLines {
			out = append([]evidence.Line(nil), out[len(out)-maxLines:]...)
		}
	})
	return out[max(0, len(out)-maxLines):]
}

// line reads an entry, and reports whether the filter keeps it. at is when it was written, if a journal has that.
func (f *filter) line(text string, at, now time.Time) (evidence.Line, bool) {
	e, ok := parseEntry(text, now)
	if !ok {
		return e, false
	}
	if !at.IsZero() {
		e.At = at
	}
	if !f.keep(&e, text) {
		return e, false
	}
	e.Message, e.Error, e.Where, e.Pod, e.UID = logged(e.Message), logged(e.Error), message(e.Where), message(e.Pod), message(e.UID)
	return e, true
}

// eachEntry calls add with each entry of a log: with the lines that continue it, without what a journal puts before it,
// and with the time at which the journal has it; the zero time: it has none.
func eachEntry(text []byte, add func(entry string, at time.Time)) {
	open, began := "", time.Time{}
	for line := range bytes.Lines(text) {
		entry, at := fromJournal(strings.TrimRight(string(line), "\r\n"))
		switch {
		case open == "":
		case klog.Continues(entry):
			if len(open) < maxEntry {
				open += "\n" + entry
			}
			continue
		default:
			add(open[:min(len(open), maxEntry)], began)
		}
		open, began = entry, at
	}
	if open != "" {
		add(open[:min(len(open), maxEntry)], began)
	}
}

// fromJournal returns what a program wrote, of a line of a journal as JSON, of one as text, or of a log.
func fromJournal(line string) (text string, at time.Time) {
	if text, at, ok := klog.FromJournal(line); ok {
		return text, at
	}
	text = klog.AfterSyslog(line)
	if len(text) < len(line) {
		at = klog.SyslogTime(line, time.Now())
	}
	return text, at
}

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
