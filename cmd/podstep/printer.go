package main

import (
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/spf13/cobra"
)

// printer prints the events that were asked for.
type printer struct {
	out   io.Writer
	lines lines.Lines
	// steps are globs; none means all.
	steps  []string
	filter *filter.Filter
}

// add takes an event, if it was asked for. Drop events always are.
func (p *printer) add(e *probes.Event) error {
	if e.Kind != probes.Drop && (!p.shows(e) || !p.filter.Match(e)) {
		return nil
	}
	return p.lines.Add(e)
}

func (p *printer) flush() error {
	if _, err := p.out.Write(p.lines.Flush()); err != nil {
		return fmt.Errorf("print events: %w", err)
	}
	return nil
}

// shows reports whether the event's step was asked for. What is about no step is.
func (p *printer) shows(e *probes.Event) bool {
	if len(p.steps) == 0 || e.Step == "" {
		return true
	}
	for _, g := range p.steps {
		if ok, _ := path.Match(g, e.Step); ok {
			return true
		}
	}
	return false
}

// stepGlobs gives globs that the agent knows: stages are taken apart into steps.
func stepGlobs(c *probes.Catalogue, given []string) (globs []string, err error) {
	for _, g := range given {
		steps, err := stepsNamed(c, g)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(g, stagePrefix) {
			globs = append(globs, g)
			continue
		}
		for _, s := range steps {
			globs = append(globs, s.Name)
		}
	}
	return globs, nil
}

// filterFlag is the --filter flag.
type filterFlag struct{ filter.Filter }

func (f *filterFlag) Type() string { return "FILTER" }

func (f *filterFlag) Set(text string) error {
	parsed, err := filter.Parse(text)
	if err != nil {
		return err
	}
	f.Filter = *parsed
	return nil
}

func (f *filterFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "filter", `only events like 'err', 'step~cri.* slow>2s'; see podstep help filter`)
	cmd.RegisterFlagCompletionFunc("filter", func(_ *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
		for _, c := range filter.Completions(typed, nil) {
			out = append(out, c.Text+"\t"+c.About.En)
		}
		return out, noFiles | cobra.ShellCompDirectiveNoSpace
	})
}

// filterTopic is what `podstep help filter` prints.
func filterTopic() *cobra.Command {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, l := range filter.Describe("en") {
		fmt.Fprintf(t, "  %s\t%s\n", l.Form, l.Text)
	}
	t.Flush()
	return &cobra.Command{
		Use:   "filter",
		Short: "What --filter takes",
		Long:  "A filter chooses events. Terms beside each other must all match.\n\n" + b.String(),
	}
}
