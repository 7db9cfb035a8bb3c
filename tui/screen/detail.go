package screen

import (
	"strings"
	"time"
)

// Detail is a step in full.
type Detail struct {
	Step  string
	Title string
	// Text is what the step is for.
	Text string
	// Place is file:line of the kubelet, Source the lines there, Mark the line
	// that is about to run or ran (an index into Source, -1 for none), First
	// the number of the first line.
	Place  string
	Source []string
	First  int
	Mark   int
	// Either are the numbers of the lines from one of which the step was called, if it is
	// not known which; Mark is -1 then.
	Either []int
	// Args and Results are the step's values in the kubelet's words.
	Args, Results []Value
	// Request and Response are a CRI call's, as lines of YAML.
	Request, Response []string
	// Missing names the values that no probe reads, and which probes do not.
	Missing string
	// Sights are how each probe saw the call, if several did; the first is the one
	// that the rest of the detail is of.
	Sights []Sight
	Error  string
	Took   time.Duration
	// Began is the wall clock at its start.
	Began time.Time
	// Goroutine is whose goroutine it runs on.
	Goroutine string
	// Held says of a pod that is held here when it goes on by itself, and why.
	Held string
	// Hold says whether one may hold here, and what it costs: the timers.
	Hold string
	// Top is the first line that is shown, of Total lines as drawn.
	Top int
}

// Lines is about how many lines the details take: enough to tell when they are
// scrolled out of sight.
func (d *Detail) Lines() int {
	const usualWidth = 60
	n := 8 + len(d.Text)/usualWidth + len(d.Held)/usualWidth + len(d.Hold)/usualWidth + len(d.Error)/usualWidth + len(d.Source) + len(d.Request) + len(d.Response)
	all := [][]Value{d.Args, d.Results}
	for i := range d.Sights {
		n++
		all = append(all, d.Sights[i].Values)
	}
	for _, values := range all {
		for _, v := range values {
			n += 1 + strings.Count(v.Text, "\n")
		}
	}
	return n
}

// Sight is a call as one probe saw it.
type Sight struct {
	Probe string
	Began time.Time     // zero: it did not see that
	Took  time.Duration // zero: it has not seen the end
	Error string
	// Values are those in which it differs from the first.
	Values []Value
}

// Value is a named value.
type Value struct{ Name, Text string }
