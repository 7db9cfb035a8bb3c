package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/probes/filter"
)

// choice is a flag with a few possible values.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.of, "|") }
func (c *choice) Set(v string) error {
	for _, o := range c.of {
		if v == o {
			c.value = v
			return nil
		}
	}
	return fmt.Errorf("not one of %s", strings.Join(c.of, ", "))
}

func (c *choice) add(cmd *cobra.Command, name, short, usage string) {
	cmd.Flags().VarP(c, name, short, usage)
	cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp))
}

// period is a flag for a time that must pass: zero and less make no sense.
type period struct {
	d       time.Duration
	example string
}

func (s *period) Type() string { return "DURATION" }
func (s *period) String() string {
	if s.d == 0 {
		return ""
	}
	return s.d.String()
}

func (s *period) Set(v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return errors.New("not a positive duration; write it like " + s.example)
	}
	s.d = d
	return nil
}

func (s *period) add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(s, name, usage)
	cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
}

// proto returns nil if the flag was not given: the agent has defaults of its own.
func (s *period) proto() *durationpb.Duration {
	if s.d == 0 {
		return nil
	}
	return durationpb.New(s.d)
}

func newPeriod(example string) *period { return &period{example: example} }

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
