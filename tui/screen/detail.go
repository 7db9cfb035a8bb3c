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
	// Args and Results are the step's values in the kubelet's words.
	Args, Results []Value
	// Request and Response are a CRI call's, as lines of YAML.
	Request, Response []string
	Error             string
	Took              time.Duration
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
	for _, values := range [][]Value{d.Args, d.Results} {
		for _, v := range values {
			n += 1 + strings.Count(v.Text, "\n")
		}
	}
	return n
}

// Value is a named value.
type Value struct{ Name, Text string }
