package main

import (
	"fmt"
	"path"
	"slices"
	"time"
)

// progress is how far a build is. It is pure: the caller gives it the entries of the tool log,
// the plan as soon as there is one, and the time since the first entry.
type progress struct {
	compiled map[string]bool // packages, false while they are being compiled
	linking  []string        // programs that are being linked
	linked   map[string]bool // programs
	plan     *plan           // nil until it is known
}

func newProgress() *progress {
	return &progress{compiled: map[string]bool{}, linked: map[string]bool{}}
}

func (p *progress) add(e entry) {
	switch e.kind {
	case compiling:
		// A package may be compiled twice: as others import it and for a test.
		p.compiled[e.path] = p.compiled[e.path] || false
	case compiled:
		p.compiled[e.path] = true
	case linking:
		p.linking = append(p.linking, e.path)
	case linked:
		p.linked[e.path] = true
		p.linking = slices.DeleteFunc(p.linking, func(path string) bool { return path == e.path })
	}
}

// begun reports whether there is anything to do at all: with everything in the
// build cache no tool is called.
func (p *progress) begun() bool {
	return len(p.compiled) > 0 || len(p.linking) > 0 || len(p.linked) > 0
}

// done returns how many packages have been compiled.
func (p *progress) done() (n int) {
	for _, done := range p.compiled {
		if done {
			n++
		}
	}
	return n
}

// compiling reports whether a compiler runs.
func (p *progress) compiling() bool { return p.done() < len(p.compiled) }

// all returns how many packages are to be compiled. When the plan was made, some may already
// have been in the cache.
func (p *progress) all() int {
	n := len(p.compiled)
	for path := range p.plan.compile {
		if _, seen := p.compiled[path]; !seen {
			n++
		}
	}
	return n
}

// share returns the part of the plan's work that is done, from 0 to 1.
func (p *progress) share() float64 {
	var done, all int64
	for path, work := range p.plan.compile {
		all += work
		if p.compiled[path] {
			done += work
		}
	}
	for path, work := range p.plan.link {
		all += work
		if p.linked[path] {
			done += work
		}
	}
	if all == 0 {
		return 1
	}
	return float64(done) / float64(all)
}

// known is the share that must be done before the rest can be estimated from it.
const known = 0.02

// line returns how far the build is, in no more than 70 columns, such as
//
//	812 of 2756 packages compiled, 2m10s so far, about 5m20s to go
func (p *progress) line(elapsed time.Duration) string {
	what := p.packages() + " compiled"
	// Linking a program while packages are compiled does not hold anything up.
	if len(p.linking) > 0 && !p.compiling() {
		what = "linking " + path.Base(p.linking[0])
	}
	line := fmt.Sprintf("%s, %s so far", what, short(elapsed))
	if p.plan == nil {
		return line
	}
	share := p.share()
	if share < known || share >= 1 {
		return line
	}
	toGo := time.Duration(float64(elapsed) * (1 - share) / share)
	return fmt.Sprintf("%s, about %s to go", line, about(toGo))
}

// summary returns the line after a build.
func (p *progress) summary(elapsed time.Duration) string {
	return fmt.Sprintf("%s compiled, %s linked, in %s", count(p.done(), "package"), count(len(p.linked), "program"), short(elapsed))
}

func (p *progress) packages() string {
	if p.plan == nil {
		return count(p.done(), "package")
	}
	return fmt.Sprintf("%d of %s", p.done(), count(p.all(), "package"))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func short(d time.Duration) string { return d.Round(time.Second).String() }

// about writes an estimate: without seconds, which it cannot know.
func about(d time.Duration) string {
	if d > time.Minute {
		return d.Round(10 * time.Second).String()
	}
	return max(5*time.Second, d.Round(5*time.Second)).String()
}
