package logstory

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/klog"
)

// maxEntry bounds one entry with the lines that continue it, in bytes. What is longer is cut.
const maxEntry = 64 << 10

// entry is one entry of a log, not taken apart yet.
type entry struct {
	at   time.Time
	text string
	// head is its header, if it is the kubelet's and not JSON.
	head    klog.Header
	headed  bool
	runtime bool // it is the runtime's
}

// reader reads the entries of one log.
type reader struct {
	in    *bufio.Reader
	clock *clock
	next  entry // an entry that further lines may continue
	held  bool
	err   error
}

// clock is what is known of the clock of a log that has no year and no zone.
type clock struct{ near time.Time }

func newReader(r io.Reader, c *clock) *reader {
	return &reader{in: bufio.NewReaderSize(r, 256<<10), clock: c}
}

// read returns the next entry. After the last one it returns io.EOF.
func (r *reader) read() (entry, error) {
	for r.err == nil {
		line, err := r.line()
		if err != nil {
			r.err = err
			if line == "" {
				break
			}
		}
		if e, ok := r.addLine(line); ok {
			return e, nil
		}
	}
	if e, ok := r.flush(); ok {
		return e, nil
	}
	return entry{}, r.err
}

// addLine adds a line, and returns the entry before it if the line begins another one.
func (r *reader) addLine(line string) (e entry, ok bool) {
	begun, ok := r.parse(line)
	if !ok {
		return e, false
	}
	e, ok = r.next, r.held
	r.next, r.held = begun, true
	return e, ok
}

// flush returns the last entry, which no line continues any more.
func (r *reader) flush() (e entry, ok bool) {
	ok, r.held = r.held, false
	return r.next, ok
}

// line returns the next line without its end.
func (r *reader) line() (string, error) {
	var long []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if err == nil && long == nil {
			return strings.TrimRight(string(part), "\r\n"), nil
		}
		long = append(long, part[:min(len(part), maxEntry-len(long))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(long), "\r\n"), err
	}
}

// parse reads one line: an entry of the kubelet or of the runtime, by itself or behind what a journal puts before it.
// A line that continues the entry before is added to that.
func (r *reader) parse(line string) (e entry, ok bool) {
	if line == "" {
		return e, false
	}
	text, at := line, time.Time{}
	switch line[0] {
	case 'I', 'E', 't', '\t', ' ': // no month and no day of the week begins so
	case '{':
		if text, at, ok = klog.FromJournal(line); !ok {
			return r.fromJSON(line)
		}
	default:
		text = klog.AfterSyslog(line)
	}
	if r.held && !r.next.runtime && klog.Continues(text) {
		if len(r.next.text)+len(text) < maxEntry {
			r.next.text += "\n" + text
		}
		return e, false
	}
	e, ok = r.entryOf(text)
	if ok && !at.IsZero() {
		e.at = at
	}
	return e, ok
}

func (r *reader) entryOf(text string) (e entry, ok bool) {
	if h, ok := klog.ReadHeader(text); ok {
		return entry{at: h.Time(r.clock.near), text: text, head: h, headed: true}, true
	}
	if strings.HasPrefix(text, "{") {
		return r.fromJSON(text)
	}
	at, ok := runtimeTime(text)
	return entry{at: at, text: text, runtime: true}, ok
}

// fromJSON reads an entry of a kubelet that logs JSON.
func (r *reader) fromJSON(line string) (e entry, ok bool) {
	k, ok := klog.Parse(line, r.clock.near)
	return entry{at: k.Time, text: line}, ok
}
