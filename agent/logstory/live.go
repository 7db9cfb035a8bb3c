package logstory

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/wire"
)

// Sink takes the calls that logs show while they are written. A call that was under way before gets no Begin.
type Sink interface {
	// Begin takes a call that has begun, with the values of the step's fields that the log has.
	Begin(c *Call, at time.Time, fields []wire.Field)
	// End takes a call that has ended, with the values of the step's results that the log has. A call of which nothing
	// shows how it has ended has the field probes.FieldEndUnseen.
	End(c *Call, at time.Time, results []wire.Field, err string)
}

// Live finds the calls in logs that grow. One goroutine at a time uses it.
type Live struct {
	survey   *survey
	reporter *reporter
	sink     Sink
	// since is when the story begins. Entries before it only show whose pods, sandboxes and containers are.
	since   time.Time
	logs    map[string]*growing
	waiting []arrived // by the time of their entries
	swept   time.Time
}

// growing is one log.
type growing struct {
	reader *reader
	zone   *time.Location
	last   time.Time // when the last line came
}

// arrived is an entry that waits for those that belong before it.
type arrived struct {
	entry
	came time.Time
}

// NewLive makes a Live of logs whose story begins at a time. verbosity is the kubelet's -v, as far as that is known.
func NewLive(since time.Time, verbosity int, known Known, to Sink) *Live {
	l := &Live{survey: &survey{verbosity: verbosity}, sink: to, since: since, logs: map[string]*growing{}, swept: since}
	l.reporter = newReporter(l.survey, l)
	l.reporter.pods.others = known
	return l
}

// settle is how long an entry waits: for the lines that continue it, for entries of other logs, and for the first line
// that has both the name and the UID of a new pod.
const settle = 300 * time.Millisecond

// Add adds a line of a log, whose clock has the zone.
func (l *Live) Add(log, line string, zone *time.Location, now time.Time) {
	g := l.logs[log]
	if g == nil {
		g = &growing{reader: newReader(nil, &clock{}), zone: zone}
		l.logs[log] = g
	}
	g.last, g.reader.clock.near = now, now.In(g.zone)
	if e, ok := g.reader.addLine(line); ok {
		l.arrive(e, now)
	}
}

// arrive puts an entry in its place.
func (l *Live) arrive(e entry, now time.Time) {
	l.survey.add(&e)
	i := len(l.waiting)
	for i > 0 && l.waiting[i-1].at.After(e.at) {
		i--
	}
	l.waiting = slices.Insert(l.waiting, i, arrived{e, now})
}

// Turn hands over the calls of the entries that have waited long enough.
func (l *Live) Turn(now time.Time) {
	for _, g := range l.logs {
		if now.Sub(g.last) >= settle {
			if e, ok := g.reader.flush(); ok {
				l.arrive(e, g.last)
			}
		}
	}
	n := 0
	for n < len(l.waiting) && now.Sub(l.waiting[n].came) >= settle {
		l.reporter.add(&l.waiting[n].entry)
		n++
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	l.reporter.pods.fresh = nil
	l.sweep(now)
}

const (
	// sweepEvery is how often pods are looked for that may be forgotten.
	sweepEvery = 10 * time.Minute
	// forgetAfter is how long a pod is remembered of which no line is written.
	forgetAfter = 6 * time.Hour
)

// sweep bounds what is remembered.
func (l *Live) sweep(now time.Time) {
	if now.Sub(l.swept) >= sweepEvery {
		l.swept = now
		l.reporter.pods.forget(now.Add(-forgetAfter))
	}
}

// SetVerbosity notes that somebody has changed the kubelet's -v.
func (l *Live) SetVerbosity(v int) { l.survey.verbosity = v }

// Gone ends the calls that go on: nothing is written of them any more.
func (l *Live) Gone(now time.Time) {
	for _, p := range l.reporter.pods.byUID {
		for i := len(p.open) - 1; i >= 0; i-- {
			l.reporter.endUnseen(p.open[i], now)
		}
		p.open = nil
	}
}

// begin passes on a call of the story.
func (l *Live) begin(c *Call, at time.Time, fields []wire.Field) {
	if !at.Before(l.since) {
		l.sink.Begin(c, at, fields)
	}
}

// end passes on the end of a call, also of one that began before the story.
func (l *Live) end(c *Call, at time.Time, results []wire.Field, err string, _ time.Duration) {
	if !at.Before(l.since) {
		l.sink.End(c, at, results, err)
	}
}
