package screen

import (
	"strings"
	"time"
)

// Detail is a step in full.
type Detail struct {
	Step  string
	Title string
	// Text says what the step is for.
	Text string
	// Place is file:line of the kubelet, and Source the lines there. Mark is the index in Source of the line that is
	// about to run or ran, -1 for none. First is the number of the first line.
	Place  string
	Source []string
	First  int
	Mark   int
	// Points are the breakpoints at lines of Source, by their numbers.
	Points map[int]Point
	// Either are the numbers of the lines from which the step may have been called, if it is not known which; Mark
	// is then -1.
	Either []int
	// Args and Results are the step's values in the kubelet's words.
	Args, Results []Value
	// Logs are the last values that breakpoints have logged of the step, the newest first, under the time and the
	// breakpoint's number.
	Logs []Value
	// Logged are the lines that the kubelet's log has of the step: each message, under the -v that it takes.
	Logged []Value
	// Request and Response are a CRI call's, as lines of YAML.
	Request, Response []string
	// Missing names the values that no probe reads, and the probes that do not read them.
	Missing string
	// Sights say how each probe saw the call, if several did. The rest of the detail is about the first sight.
	Sights []Sight
	Error  string
	Took   time.Duration
	// Began is the time on the wall clock when the call began.
	Began time.Time
	// Goroutine says whose goroutine the call runs on.
	Goroutine string
	// Held says when a pod that is held here goes on by itself, and why.
	Held string
	// Hold says whether the pod may be held here, and which timers would run meanwhile.
	Hold string
	// Top is the first line that is shown, of Total lines as drawn.
	Top int
}

// Lines returns about how many lines the detail takes. That is enough to tell when they are scrolled out of sight.
func (d *Detail) Lines() int {
	const usualWidth = 60
	n := 8 + len(d.Text)/usualWidth + len(d.Held)/usualWidth + len(d.Hold)/usualWidth + len(d.Error)/usualWidth + len(d.Source) + len(d.Request) + len(d.Response)
	all := [][]Value{d.Args, d.Results, d.Logs, d.Logged}
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
	Began time.Time     // zero: the probe did not see the beginning
	Took  time.Duration // zero: the probe has not seen the end
	Error string
	// Values are the values in which the sight differs from the first one.
	Values []Value
}

// Point says what breakpoints do at a step or at a line of the source.
type Point struct {
	// Acts: one holds pods there, makes them fail or wait, or keeps the stack. Logs: one logs values.
	Acts, Logs bool
	// Last are the last values that were logged there of the selected pod, with their time; empty: none.
	Last string
}

// Value is a named value.
type Value struct{ Name, Text string }
