package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes/words"
)

// maxStepsNamed is how many steps that are not compared a person gets the names of.
const maxStepsNamed = 10

// differencesText prints how durations differ from a baseline, for people.
func differencesText(w io.Writer, t *topper, b *spread.Baseline, d *spread.Differences) {
	fmt.Fprintf(w, "now: %s, in %s\n", aboutTop(t.pods.Written(), t.info.GetNode(), t.info.GetKubeletVersion()), words.Clock(t.seen()))
	fmt.Fprintf(w, "was: %s, in %s until %s\n", aboutTop(b.Of, b.Node, b.Kubelet), words.Clock(b.Seen()), b.Taken.Local().Format("2006-01-02 15:04:05"))
	if len(d.Rows) > 0 {
		var rows [][]string
		for i := range d.Rows {
			rows = append(rows, differenceCells(&d.Rows[i]))
		}
		table(w, []string{"STEP", "CALLS", "WAS", "P50", "WAS", "CHANGE", "P99", "WAS", "CHANGE"}, rows)
	}
	left := func(steps []string, one, several string) {
		switch len(steps) {
		case 0:
			return
		case 1:
			one = "1 step " + one
		default:
			one = fmt.Sprintf("%d steps %s", len(steps), several)
		}
		if more := len(steps) - maxStepsNamed; more > 0 {
			steps = append(slices.Clone(steps[:maxStepsNamed]), fmt.Sprintf("and %d more; -o json has all", more))
		}
		fmt.Fprintln(w, ansi.Wordwrap(words.Clean(one+": "+strings.Join(steps, ", ")), compareWidth, ""))
	}
	left(d.Few, fmt.Sprintf("has too few calls to be compared, fewer than %d", spread.MinCalls), fmt.Sprintf("have too few calls to be compared, fewer than %d", spread.MinCalls))
	left(d.New, "is new, and has no calls in the file", "are new, and have no calls in the file")
	left(d.Gone, "is only in the file, and has no calls now", "are only in the file, and have no calls now")
}

func differenceCells(d *spread.Difference) []string {
	a, b := &d.After, &d.Before
	out := []string{a.Step, strconv.Itoa(a.Calls), strconv.Itoa(b.Calls), words.Measured(a.P50), words.Measured(b.P50), change(d.P50)}
	if d.P99 == 0 {
		return append(out, "", "", "")
	}
	return append(out, words.Measured(a.P99), words.Measured(b.P99), change(d.P99))
}

// change writes how many times as long something takes now.
func change(times float64) string {
	switch {
	case spread.Same(times):
		return "same"
	case times >= 10:
		return fmt.Sprintf("x %.0f", times)
	case times >= 2:
		return fmt.Sprintf("x %.1f", times)
	}
	return fmt.Sprintf("%+.0f %%", 100*(times-1))
}

// differencesJSON is a comparison with a baseline, as scripts get it.
type differencesJSON struct {
	Was   *spread.Baseline `json:"was"`
	Steps []differenceJSON `json:"steps"`
	Few   []string         `json:"tooFewCalls"`
	New   []string         `json:"new"`
	Gone  []string         `json:"gone"`
}

// differenceJSON is a step. Its ratios are how many times as long it takes now; there is none where there are too few calls.
type differenceJSON struct {
	Step string      `json:"step"`
	Now  spread.Kept `json:"now"`
	Was  spread.Kept `json:"was"`
	P50  float64     `json:"p50Ratio"`
	P99  *float64    `json:"p99Ratio"`
}

func newDifferencesJSON(b *spread.Baseline, d *spread.Differences) *differencesJSON {
	was := *b
	was.Steps = nil // each stands beside the present one
	out := &differencesJSON{Was: &was, Steps: []differenceJSON{}, Few: append([]string{}, d.Few...), New: append([]string{}, d.New...), Gone: append([]string{}, d.Gone...)}
	for _, r := range d.Rows {
		one := differenceJSON{Step: r.After.Step, Now: r.After, Was: r.Before, P50: r.P50}
		if r.P99 > 0 {
			one.P99 = &r.P99
		}
		out.Steps = append(out.Steps, one)
	}
	return out
}
