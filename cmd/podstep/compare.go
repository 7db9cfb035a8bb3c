package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/probes/words"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	podName
	files []string
	logs  logFlags
	part  choice
	out   format
}

// which returns the part of the stories to compare.
func (f *compareFlags) which() compare.Part { return compare.PartNamed(f.part.value) }

func (a *app) compare() *cobra.Command {
	flags := compareFlags{part: choice{value: compare.Creation.String(), of: compare.Parts}}
	cmd := &cobra.Command{
		Use:   "compare A B [-n NAMESPACE] [--part creation|termination|all] [--trace FILE [--trace FILE]] [--since TIME] [-o json] [flags]",
		Short: "Lay the creation, or the termination, of two pods side by side",
		Long: `Compares how two pods were created: where the time went in each, which steps only
one of them has, and the first place where they part. With --part termination it
compares how they ended, from what began it until the kubelet let go of them, and
with --part all their whole stories.

Each moment counts for one step: the innermost call of the pod's worker, or of what
the worker waits for, such as the pull of an image. The time of a hold counts for
no step. So the lines add up to the time of the part.

Both pods are those of the agent, or of a recorded trace; of two traces, A is looked
for in the first and B in the second. With --since or --until and no FILE they are
those that the agent has recorded, if podstep attach --record-dir records there.`,
		Example: `  podstep compare web web2
  podstep compare web web2 --trace node.podstep
  podstep compare web web2 --part termination
  podstep compare web-1 web-2 --since 2h
  podstep compare web web --trace good.podstep --trace slow.podstep
  podstep compare web web2 -o json | jq '.times[0]'`,
		Args:              twoPods,
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runCompare(cmd.Context(), args, &flags)
		},
	}
	flags.podName.add(cmd)
	cmd.Flags().StringArrayVar(&flags.files, "trace", nil, "look into this `FILE`, a trace, a record directory or a kubelet's log, not at the agent; twice: one for each pod")
	flags.logs.add(cmd, "one more log `FILE` of the same node, if the FILE of --trace is a log, too")
	flags.part.add(cmd, "part", "", "the part of their stories that is compared")
	flags.out.add(cmd, "json")
	return cmd
}

func twoPods(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("two pods are compared, and %d are named; write podstep compare A B", len(args))
	}
	return nil
}

func (a *app) runCompare(ctx context.Context, args []string, flags *compareFlags) error {
	r, err := a.comparison(ctx, args, flags)
	if err != nil {
		return err
	}
	if flags.out.value == "json" {
		text, err := words.JSON(newCompareJSON(r), "  ")
		if err != nil {
			return err
		}
		_, err = a.out.Write(text)
		return err
	}
	_, err = io.WriteString(a.out, compareText(r, isTerminal(a.out) && !noColor()))
	return err
}

// comparison compares two pods, which have begun the part of their stories that is compared.
func (a *app) comparison(ctx context.Context, args []string, flags *compareFlags) (*compare.Result, error) {
	if len(flags.files) > 2 {
		return nil, usagef("--trace is given %d times, and there are two pods; give it once or twice", len(flags.files))
	}
	if len(flags.files) == 0 && (flags.logs.given() || len(flags.logs.logs) > 0) {
		return nil, usagef("--log, --node-year and --node-zone are about logs; name one with --trace FILE")
	}
	var stories [2]*compare.Story
	for i, arg := range args {
		sel, err := flags.one(arg)
		if err != nil {
			return nil, err
		}
		switch {
		case len(flags.files) == 0 && flags.logs.timed():
			stories[i], err = a.storyOfRecord(ctx, flags.logs, sel, flags.which())
		case len(flags.files) == 0:
			stories[i], err = a.liveStory(ctx, sel, flags.which())
		default:
			stories[i], err = a.recordedStory(ctx, flags.files[min(i, len(flags.files)-1)], &flags.logs, sel, flags.which())
		}
		if err != nil {
			return nil, err
		}
	}
	r := compare.Compare(stories[0], stories[1])
	if !r.Begun() {
		return nil, errors.New(r.Verdict(words.English))
	}
	return r, nil
}

// liveStory reads a pod's story from the agent of its node, as far as the agent remembers it.
func (a *app) liveStory(ctx context.Context, sel *agentpb.PodSelector, part compare.Part) (*compare.Story, error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, err
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), func(ctx context.Context, c *client.Client) (*compare.Story, error) {
		s, err := storyOf(ctx, c.Reader(), sel, part)
		if errors.Is(err, compare.ErrNoPod) && len(nodes) > 1 {
			return nil, nil
		}
		return s, err
	})
	if len(nodes) == 1 {
		return answers[0].Value, answers[0].Err
	}
	i, err := onlyOne(answers, sel, func(a fleet.Answer[*compare.Story]) bool { return a.Value != nil })
	if err != nil {
		return nil, err
	}
	return answers[i].Value, nil
}

// storyOfRecord reads a pod's story from what the agent of its node has recorded.
func (a *app) storyOfRecord(ctx context.Context, logs logFlags, sel *agentpb.PodSelector, part compare.Part) (*compare.Story, error) {
	names, err := logs.fromRecord(ctx, a, sel, true)
	if err != nil {
		return nil, err
	}
	return a.recordedStory(ctx, names[0], &logs, sel, part)
}

// storyOf reads a pod's story from an agent.
func storyOf(ctx context.Context, c *client.Reader, sel *agentpb.PodSelector, part compare.Part) (*compare.Story, error) {
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Pods: sel, History: true, OnlyHistory: true})
	if err != nil {
		return nil, err
	}
	s, err := compare.Read(c.About(), watchSource{w}, sel, part, func(origin int64) int64 { return time.Now().UnixNano() - origin })
	if errors.Is(err, compare.ErrNoPod) {
		return nil, fmt.Errorf("%w in what the agent remembers; see podstep pods", err)
	}
	return s, err
}

// watchSource returns the batches of a stream.
type watchSource struct{ *client.Watch }

func (s watchSource) Next() (*agentpb.Batch, error) {
	b, err := s.Watch.Next()
	return b.Raw, err
}

func (a *app) recordedStory(ctx context.Context, path string, logs *logFlags, sel *agentpb.PodSelector, part compare.Part) (*compare.Story, error) {
	logs.past.pods, logs.past.context = sel, true
	r, err := a.openLogs(ctx, logs, path)
	if err != nil {
		return nil, openError(err)
	}
	defer r.Close()
	s, err := compare.Read(r.Header().Info, r, sel, part, nil)
	var fault *trace.Fault
	switch {
	case errors.Is(err, compare.ErrNoPod):
		return nil, fmt.Errorf("%s: %w; %s", path, err, logs.showsWhat(path))
	case s != nil && errors.As(err, &fault):
		a.printf("podstep: %s: %s", path, fault)
		return s, nil
	}
	return s, err
}

// compareWidth is how wide a comparison is printed, in characters.
const compareWidth = 79

func compareText(r *compare.Result, color bool) string {
	var b strings.Builder
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	b.WriteString(ansi.Wordwrap(r.Verdict(words.English)+".\n"+r.Parting(words.English), compareWidth, "") + "\n\n")
	look := compare.Look{Width: compareWidth, Most: 20, Slow: "█", Fast: "░", Axis: "│"}
	if !color {
		look.Slow, look.Fast, look.Axis = "#", "-", "|"
	}
	for _, row := range r.Table(words.English, look) {
		switch {
		case row.Heading:
			row.Text = paint("1", row.Text)
		case row.Marked:
			row.Text = paint("33", row.Text)
		default:
			row.Text = slowBar.ReplaceAllStringFunc(row.Text, func(bar string) string { return paint("33", bar) })
		}
		b.WriteString(row.Text + "\n")
	}
	return b.String()
}

// slowBar matches the bar of the pod that took longer.
var slowBar = regexp.MustCompile("█+")

// compareJSON is a comparison as programs get it.
type compareJSON struct {
	A       storyJSON     `json:"a"`
	B       storyJSON     `json:"b"`
	Part    string        `json:"part"`
	Verdict string        `json:"verdict"`
	Parting string        `json:"parting"`
	Times   []timesJSON   `json:"times"`
	Steps   []alignedJSON `json:"steps"`
	// Parts is the place in steps from which on the stories differ; -1: they do not.
	Parts int `json:"parts"`
}

type storyJSON struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	TookNs    int64  `json:"tookNs"`
	HeldNs    int64  `json:"heldNs"`
	Done      bool   `json:"done"`
}

type timesJSON struct {
	Step   string `json:"step"`
	Of     string `json:"of,omitempty"`
	ANs    int64  `json:"aNs"`
	BNs    int64  `json:"bNs"`
	ACalls int    `json:"aCalls"`
	BCalls int    `json:"bCalls"`
}

type alignedJSON struct {
	Turn int           `json:"turn"`
	Kind string        `json:"kind,omitempty"`
	Step string        `json:"step"`
	Of   string        `json:"of,omitempty"`
	A    *stepSideJSON `json:"a"`
	B    *stepSideJSON `json:"b"`
}

type stepSideJSON struct {
	AtNs   int64  `json:"atNs"`
	TookNs int64  `json:"tookNs"`
	Error  string `json:"error,omitempty"`
}

func newCompareJSON(r *compare.Result) *compareJSON {
	out := &compareJSON{
		A: newStoryJSON(r.A), B: newStoryJSON(r.B), Part: r.A.Part.String(), Verdict: r.Verdict(words.English), Parting: r.Parting(words.English),
		Times: []timesJSON{}, Steps: []alignedJSON{}, Parts: r.Parts,
	}
	for _, t := range r.Times {
		out.Times = append(out.Times, timesJSON{t.Step, t.Of, int64(t.A), int64(t.B), t.CallsA, t.CallsB})
	}
	side := func(s *compare.Step) *stepSideJSON {
		if s == nil {
			return nil
		}
		return &stepSideJSON{int64(s.Begin), int64(s.Took), s.Error}
	}
	for i := range r.Pairs {
		p := &r.Pairs[i]
		out.Steps = append(out.Steps, alignedJSON{p.Turn.N, p.Turn.Kind, p.Step().Key.Step, p.Step().Of, side(p.A), side(p.B)})
	}
	return out
}

func newStoryJSON(s *compare.Story) storyJSON {
	return storyJSON{s.Pod.Namespace, s.Pod.Name, s.Pod.UID, int64(s.Took), int64(s.Held), s.Done}
}

// noColor reports whether the environment asks for no colours.
func noColor() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }
