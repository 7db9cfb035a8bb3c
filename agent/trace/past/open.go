package past

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// Choice is what to read of a record directory.
type Choice struct {
	// Since and Until bound the times of the events; the zero time: no bound.
	Since, Until time.Time
	// Context adds the events before Since by which those after it are understood, as far as the first segment has them.
	Context bool
	// Back bounds how long before Until, or before the last event, Since is; zero: no bound.
	Back time.Duration
	// LastRun leaves out what agents saw before the last one that ran by Until.
	LastRun bool
	// Pods chooses the pods; nil: all. Events of the node are read in any case.
	Pods *agentpb.PodSelector
	// Node is the node whose events are read, if the directory has those of several.
	Node string
}

// selection says in words which pods are chosen.
func (c *Choice) selection() string {
	if c.Pods == nil {
		return "all pods"
	}
	return c.Pods.Written()
}

// Span is a time for which something was recorded: of one run of an agent.
type Span struct{ From, To time.Time }

// NothingError is the error for a choice of which a record directory has nothing.
type NothingError struct {
	Dir    string
	Choice Choice
	// Has are the times that it has.
	Has []Span
}

func (e *NothingError) Error() string {
	what := "nothing"
	if !e.Choice.Since.IsZero() || !e.Choice.Until.IsZero() {
		what += " of that time"
	}
	if len(e.Has) == 0 {
		return fmt.Sprintf("%s has %s: no event was recorded to it yet", e.Dir, what)
	}
	has := e.Has[max(0, len(e.Has)-maxNamed):]
	var times []string
	for _, s := range has {
		times = append(times, s.String())
	}
	more := ""
	if len(e.Has) > len(has) {
		more = fmt.Sprintf("; and %d times before", len(e.Has)-len(has))
	}
	return fmt.Sprintf("%s has %s; it has %s%s", e.Dir, what, strings.Join(times, "; "), more)
}

// maxNamed bounds the times that an error names.
const maxNamed = 5

const stamp = "2006-01-02 15:04:05"

func (s Span) String() string {
	return s.From.Local().Format(stamp) + " to " + s.To.Local().Format(stamp)
}

// part is a segment that may be read.
type part struct {
	name   string
	number int
	*index
	torn bool
	skip bool // it has nothing that is wanted
}

// runOf is the segments of one run of an agent, in order.
type runOf struct {
	name  string
	parts []*part
}

func (r *runOf) began() int64 { return r.parts[0].Began }
func (r *runOf) ended() int64 { return r.parts[len(r.parts)-1].Ended }

// Open opens what there is of a choice. The error is a *NothingError if that is nothing.
func Open(from Store, c Choice) (*Recording, error) {
	parts, notes, err := from.survey(c.Pods)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", from, err)
	}
	if parts, err = ofNode(from.String(), parts, c.Node); err != nil {
		return nil, err
	}
	runs := runsOf(parts)
	has := spans(runs)
	if n := len(has); n > 0 && from.written() {
		has[n-1].To = time.Now()
	}
	if runs = c.choose(runs); len(runs) == 0 {
		return nil, &NothingError{from.String(), c, has}
	}
	r := &Recording{from: from, choice: c, runs: runs, has: has, notes: notes}
	if err := r.readHeaders(); err != nil {
		return nil, err
	}
	return r, nil
}

// Has reports whether something was recorded of some pods.
func Has(from Store, pods *agentpb.PodSelector) (bool, error) {
	parts, _, err := from.survey(pods)
	return slices.ContainsFunc(parts, func(p *part) bool { return p.hasPod(pods) }), err
}

// ofNode returns the segments of one node.
func ofNode(path string, all []*part, node string) (out []*part, err error) {
	var nodes []string
	for _, p := range all {
		if !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
		if node == "" || p.Node == node {
			out = append(out, p)
		}
	}
	slices.Sort(nodes)
	switch {
	case node == "" && len(nodes) > 1:
		return nil, fmt.Errorf("%s has recordings of %d nodes; choose one with --node: %s", path, len(nodes), strings.Join(nodes, ", "))
	case node != "" && len(out) == 0 && len(nodes) > 0:
		return nil, fmt.Errorf("%s has no recording of node %s, but of %s", path, node, strings.Join(nodes, ", "))
	}
	return out, nil
}

// runsOf puts segments in order: by run, the runs by when they began. Within a run numbers go up; clocks may be set.
func runsOf(all []*part) (out []*runOf) {
	byName := map[string]*runOf{}
	for _, p := range all {
		r := byName[p.Run]
		if r == nil {
			r = &runOf{name: p.Run}
			byName[p.Run] = r
			out = append(out, r)
		}
		r.parts = append(r.parts, p)
	}
	for _, r := range out {
		slices.SortStableFunc(r.parts, func(a, b *part) int { return cmp.Compare(a.number, b.number) })
	}
	slices.SortStableFunc(out, func(a, b *runOf) int { return compareRuns(a.parts[0], b.parts[0]) })
	return out
}

// compareRuns compares when two runs began. Within one boot the clock that nobody sets decides.
func compareRuns(a, b *part) int {
	if a.Boot != "" && a.Boot == b.Boot {
		return cmp.Compare(a.Clock, b.Clock)
	}
	return cmp.Compare(a.Began, b.Began)
}

func spans(runs []*runOf) (out []Span) {
	for _, r := range runs {
		out = append(out, Span{wall(r.began()), wall(max(r.began(), r.ended()))})
	}
	return out
}

// choose returns the runs that have something of a choice, and marks the segments that have not.
func (c *Choice) choose(runs []*runOf) (out []*runOf) {
	if c.LastRun {
		runs = c.lastRun(runs)
	}
	c.setBack(runs)
	for _, r := range runs {
		any := false
		for _, p := range r.parts {
			p.skip = !c.overlaps(p)
			any = any || !p.skip
		}
		if !any && c.LastRun {
			any = c.takeLast(r)
		}
		if !any {
			continue
		}
		c.leaveOutOthers(r)
		out = append(out, r)
	}
	return out
}

// takeLast takes the last segment that was begun by Until: nothing has happened since, and it carries what goes on.
func (c *Choice) takeLast(r *runOf) bool {
	for i := len(r.parts) - 1; i >= 0; i-- {
		if p := r.parts[i]; c.Until.IsZero() || !wall(p.Began).After(c.Until) {
			p.skip = false
			return true
		}
	}
	return false
}

// setBack sets Since by Back. Where nothing was recorded at Until, the time before it counts that was.
func (c *Choice) setBack(runs []*runOf) {
	if c.Back == 0 || len(runs) == 0 {
		return
	}
	end := wall(runs[len(runs)-1].ended())
	if !c.Until.IsZero() && c.Until.Before(end) {
		end = c.Until
	}
	if since := end.Add(-c.Back); since.After(c.Since) {
		c.Since = since
	}
}

// lastRun returns the last run that began by Until.
func (c *Choice) lastRun(runs []*runOf) []*runOf {
	for i := len(runs) - 1; i >= 0; i-- {
		if c.Until.IsZero() || !wall(runs[i].began()).After(c.Until) {
			return runs[i : i+1]
		}
	}
	return nil
}

// overlaps reports whether a segment has events of the time. One without an event counts for as long as it was open.
func (c *Choice) overlaps(p *part) bool {
	from, to := p.First, p.Last
	if p.Events == 0 {
		from, to = p.Began, max(p.Began, p.Ended)
	}
	return (c.Since.IsZero() || !wall(to).Before(c.Since)) && (c.Until.IsZero() || !wall(from).After(c.Until))
}

// leaveOutOthers leaves out segments without an event of the chosen pods. The first one stays: it carries their stories.
func (c *Choice) leaveOutOthers(r *runOf) {
	first := true
	for _, p := range r.parts {
		if p.skip {
			continue
		}
		p.skip = !first && c.Pods != nil && !p.Marks && !p.hasPod(c.Pods)
		first = false
	}
}
