package gather

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/probes/klog"
	"github.com/podstep/podstep/probes/kubelets"
)

// Log is the log of a kubelet on this machine, as a source.
type Log struct{ Near *Nearby }

// Names names the source.
func (*Log) Names() (evidence.Source, string) { return evidence.Log, "log" }

const (
	// logSince is how far back the log is read.
	logSince = 10 * time.Minute
	// maxLines bounds how many lines are kept: the last ones.
	maxLines = 200
)

// Look reads the end of the kubelet's log: the file that its standard error goes to, or
// the journal.
func (l *Log) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	source, what := l.Names()
	k, err := l.Near.kubelet(ctx, of)
	if err != nil {
		return missedNear(source, what, err)
	}
	p := &part{}
	asked := map[string]func(){what: func() {
		lines, err := l.read(ctx, k, of)
		if err != nil {
			p.missed(source, what, err)
			return
		}
		p.saw(source, what, func(s *evidence.Snapshot) { s.Machine = &evidence.Machine{Lines: lines} })
	}}
	for _, name := range within(ctx, asked) {
		p.missed(source, name, context.DeadlineExceeded)
	}
	return p.give()
}

func (l *Log) read(ctx context.Context, k *kubelets.Kubelet, of *Subject) ([]evidence.Line, error) {
	log, err := nodelog.Of(ctx, k.PID)
	if err != nil {
		return nil, fmt.Errorf("find the kubelet's log: %w", err)
	}
	text, err := log.End(ctx, logSince)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	f := filter{of: of, since: time.Now().Add(-logSince)}
	return f.lines(text, log.Zone), nil
}

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
	`SyncLoop \(probe\)|SyncLoop \(PLEG\): ignore`, `Use of .* too long`, `Allocate failed`, `Device plugin`,
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

// lines chooses lines of a text: those that the kubelet wrote, or the entries of a journal as JSON. zone is that of the
// kubelet's clock.
func (f *filter) lines(text []byte, zone *time.Location) []evidence.Line {
	c := chosen{filter: f, now: time.Now().In(zone)}
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line), "\r\n")
		message, at, ok := klog.FromJournal(line)
		if !ok {
			message = line
		}
		c.addLine(message, at)
	}
	return c.finish()
}

// chosen takes lines one by one.
type chosen struct {
	*filter
	now  time.Time
	open string // an entry with its further lines, which may not be complete yet
	at   time.Time
	out  []evidence.Line
}

// addLine adds a line. at is when it was written, if the journal says so. A line that begins
// with a tab, or with " >", belongs to the entry before.
func (c *chosen) addLine(line string, at time.Time) {
	if c.open != "" && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " >")) {
		if len(c.open) < maxEntry {
			c.open += "\n" + line
		}
		return
	}
	c.endEntry()
	c.open, c.at = line, at
}

// endEntry ends the open entry, and keeps it if the filter does.
func (c *chosen) endEntry() {
	text := c.open
	c.open = ""
	if text == "" {
		return
	}
	e, ok := parseEntry(text[:min(len(text), maxEntry)], c.now)
	if !ok {
		return
	}
	if !c.at.IsZero() {
		e.At = c.at
	}
	if !c.keep(&e, text) {
		return
	}
	e.Message, e.Error, e.Where, e.Pod, e.UID = logged(e.Message), logged(e.Error), message(e.Where), message(e.Pod), message(e.UID)
	c.out = append(c.out, e)
	if len(c.out) > 2*maxLines {
		c.out = append([]evidence.Line(nil), c.out[len(c.out)-maxLines:]...)
	}
}

func (c *chosen) finish() []evidence.Line {
	c.endEntry()
	return c.out[max(0, len(c.out)-maxLines):]
}
