package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// stepsFlags are the flags of steps.
type stepsFlags struct {
	kubelet, stage string
	agent          bool
	tier           int
	lang           choice
	out            format
}

func (a *app) steps() *cobra.Command {
	var flags stepsFlags
	cmd := &cobra.Command{
		Use:   "steps [STEP|GLOB] [--kubelet PATH] [--stage STAGE] [--tier 1|2] [--lang en|zh] [-o wide|json|yaml]",
		Short: "List the steps of the pod pipeline, and what a kubelet has of them",
		Long: `Lists the catalogue: the functions of the kubelet that make up the pipeline of a
pod, in the order in which a pod meets them. It needs no agent.

With --kubelet it reads a kubelet's program, also a stripped one, and shows for
each step whether the program has its function. With --agent it asks the agent
what each of its probes can do at each step, and why not more; of several nodes, each
node has rows of its own. A step that a probe sees closely is seen in pods that are
watched closely: the selected pod on the screen, and those of podstep trace POD.`,
		Example: `  podstep steps --stage syncpod
  podstep steps 'cri.*' -o wide
  podstep steps --agent --stage cri
  podstep steps --kubelet /usr/bin/kubelet -o json | jq -r '.[] | select(.has | not) | .name'`,
		Args:              arguments(0, 1, "STEP|GLOB"),
		ValidArgsFunction: completeStepArg,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.printSteps(cmd.Context(), first(args), &flags) },
	}
	flags.add(cmd)
	return cmd
}

func (f *stepsFlags) add(cmd *cobra.Command) {
	f.lang = choice{value: "en", of: []string{"en", "zh"}}
	cmd.Flags().StringVar(&f.kubelet, "kubelet", "", "`PATH` of a kubelet's program to look for the steps in")
	cmd.Flags().BoolVar(&f.agent, "agent", false, "show what the agent's probes can do at each step")
	cmd.Flags().StringVar(&f.stage, "stage", "", "only steps of this `STAGE`")
	cmd.RegisterFlagCompletionFunc("stage", completeStages)
	cmd.Flags().IntVar(&f.tier, "tier", 0, "only steps of this `TIER`: 1 is on by default, 2 on demand")
	f.lang.add(cmd, "lang", "", "language of titles and texts")
	f.out.add(cmd, "wide", "json", "yaml")
}

func (a *app) printSteps(ctx context.Context, glob string, f *stepsFlags) error {
	steps, data, err := f.entries(glob)
	if err != nil {
		return err
	}
	if f.kubelet != "" {
		if err := a.lookFor(steps, data, f.kubelet); err != nil {
			return err
		}
	}
	if f.agent {
		data, err = a.askReach(ctx, data, f.lang.value)
		if len(data) == 0 {
			return err
		}
	}
	return errors.Join(f.out.print(a.out, data, func(w io.Writer) { stepTable(w, data, f.out.wide()) }), err)
}

// entries returns the steps that are chosen, and what scripts get of them.
func (f *stepsFlags) entries(glob string) ([]*probes.Step, []stepJSON, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, nil, err
	}
	steps, err := f.selected(c, glob)
	if err != nil {
		return nil, nil, err
	}
	data := make([]stepJSON, len(steps))
	for i, s := range steps {
		data[i] = newStepJSON(s, f.lang.value)
	}
	return steps, data, nil
}

func (f *stepsFlags) selected(c *probes.Catalogue, glob string) ([]*probes.Step, error) {
	if f.tier < 0 || f.tier > 2 {
		return nil, usagef("--tier %d: tiers are 1 and 2; leave it out for both", f.tier)
	}
	if glob == "" {
		glob = "*"
	}
	steps, err := stepsNamed(c, glob)
	if err != nil {
		return nil, err
	}
	if f.stage != "" {
		if _, err := stepsOfStage(c, f.stage); err != nil {
			return nil, err
		}
	}
	var out []*probes.Step
	for _, s := range steps {
		if (f.stage == "" || s.Stage == f.stage) && (f.tier == 0 || s.Tier == f.tier) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, usagef("no step of the catalogue matches all of these; leave out STEP, --stage or --tier")
	}
	return out, nil
}

// lookFor reports for each step whether the kubelet at file has it.
func (a *app) lookFor(steps []*probes.Step, data []stepJSON, file string) error {
	if _, err := os.Stat(file); err != nil && strings.HasPrefix(file, "v1.") {
		return usagef("--kubelet %s: there is no such file; give the path of a kubelet's program, not a version", file)
	}
	b, err := probes.ReadBinary(file)
	if err != nil {
		return fmt.Errorf("%w; --kubelet takes the program of a kubelet for Linux", err)
	}
	found, functions := 0, 0
	for i, s := range steps {
		ok, why := b.Has(s)
		if ok {
			found++
		}
		if !s.Outside() {
			functions++
		}
		data[i].Has, data[i].Missing = &ok, why
	}
	kind := "with symbols"
	if b.Stripped {
		kind = "stripped"
	}
	version := b.KubernetesVersion
	if version == "" {
		version = "of unknown version"
	}
	a.printf("kubelet %s, %s, %s, %s: has %d of %d steps", version, b.GoVersion, b.Arch, kind, found, functions)
	if !probes.SameMinor(version) {
		a.printf("podstep: warning: the catalogue was read from kubelet %s; what is missing may have another name in this one", probes.KubernetesVersion)
	}
	return nil
}

// askReach returns the steps with what the agent's probes can do: of several nodes, the steps of each. The error is that
// of the nodes that did not answer.
func (a *app) askReach(ctx context.Context, data []stepJSON, lang string) ([]stepJSON, error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, err
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), func(_ context.Context, c *client.Client) ([]stepJSON, error) {
		own := slices.Clone(data)
		addReach(own, c.About(), words.Lang(lang))
		return own, nil
	})
	if len(nodes) == 1 {
		return answers[0].Value, answers[0].Err
	}
	var all []stepJSON
	for _, answer := range answers {
		for _, s := range answer.Value {
			s.Node = answer.Name
			all = append(all, s)
		}
	}
	return all, a.printUnanswered(namesOf(answers), errorsOf(answers))
}

// addReach fills in what the probes of an agent can do at the steps.
func addReach(data []stepJSON, info *agentpb.InfoResponse, lang words.Lang) {
	steps := map[string]*agentpb.Step{}
	for _, s := range info.GetSteps() {
		steps[s.GetName()] = s
	}
	for i := range data {
		step := steps[data[i].Name]
		data[i].Unseen = lang.In(wire.Unseen(info, step))
		for at, p := range info.GetProbes() {
			if x := wire.Ability(step, at); x != nil {
				data[i].Probes = append(data[i].Probes, reach.NewAbility(p, x, lang))
			}
		}
	}
}

// stepJSON is a step as scripts get it.
type stepJSON struct {
	Node  string `json:"node,omitempty"` // if the agents of several were asked
	Name  string `json:"name"`
	Stage string `json:"stage"`
	Tier  int    `json:"tier"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Seen is the source that reports a step that is no function: api or kubelet.
	Seen      string       `json:"seen,omitempty"`
	Symbol    string       `json:"symbol"`
	Closure   string       `json:"closure,omitempty"`
	File      string       `json:"file"`
	Goroutine string       `json:"goroutine"`
	Hold      stepHoldJSON `json:"hold"`
	Timers    []string     `json:"timers"`
	Fields    []string     `json:"fields"`
	Results   []string     `json:"results"`
	// Log are the lines that the kubelet writes to its log at the step.
	Log []stepLogJSON `json:"log,omitempty"`
	// Has and Missing are set if a kubelet was looked at.
	Has     *bool  `json:"has,omitempty"`
	Missing string `json:"missing,omitempty"`
	// Probes are set if an agent was asked. They say what each probe can do at the step, if it
	// says anything of it.
	Probes []reach.Ability `json:"probes,omitempty"`
	// Unseen is why none of the probes sees the step.
	Unseen string `json:"unseen,omitempty"`
}

// stepLogJSON is a line of the kubelet's log: from which -v on it is written, what message it has, and whether it shows
// that the call begins (enter), ends (exit), fails (failed), or happens (note).
type stepLogJSON struct {
	V       int    `json:"v"`
	Message string `json:"message"`
	At      string `json:"at"`
	Until   string `json:"until,omitempty"`
}

func stepLog(s *probes.Step) (out []stepLogJSON) {
	for _, l := range s.Log {
		out = append(out, stepLogJSON{l.V, l.Message, string(l.At), l.Until})
	}
	return out
}

type stepHoldJSON struct {
	Enter string `json:"enter"`
	Exit  string `json:"exit"`
	Why   string `json:"why,omitempty"`
}

func newStepJSON(s *probes.Step, lang string) stepJSON {
	return stepJSON{
		Name: s.Name, Stage: s.Stage, Tier: s.Tier,
		Title: in(lang, s.Title), Text: strings.TrimSpace(in(lang, s.Text)),
		Seen: string(s.Seen), Symbol: s.Symbol, Closure: s.Closure, File: s.File, Goroutine: s.Goroutine,
		Hold:   stepHoldJSON{string(s.Hold.Enter), string(s.Hold.Exit), in(lang, s.Hold.Why)},
		Timers: append([]string{}, s.Timers...), Fields: fieldNames(s.Fields), Results: fieldNames(s.Results),
		Log: stepLog(s),
	}
}

func in(lang string, t probes.Text) string {
	if lang == "zh" {
		return t.Zh
	}
	return t.En
}

func fieldNames(fields []probes.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func stepTable(w io.Writer, steps []stepJSON, wide bool) {
	looked := len(steps) > 0 && steps[0].Has != nil
	header := []string{"STAGE", "STEP", "TIER", "HOLD"}
	if looked {
		header = append(header, "KUBELET")
	}
	asked := slices.ContainsFunc(steps, func(s stepJSON) bool { return s.Probes != nil })
	if asked {
		header = append(header, "PROBES")
	}
	if wide {
		header = append(header, "GOROUTINE", "TIMERS", "LOG", "FUNCTION", "FILE")
	}
	header = append(header, "TITLE")
	named := len(steps) > 0 && steps[0].Node != ""
	if named {
		header = append([]string{"NODE"}, header...)
	}
	var rows [][]string
	for _, s := range steps {
		var row []string
		if named {
			row = append(row, s.Node)
		}
		row = append(row, s.Stage, s.Name, strconv.Itoa(s.Tier), holdRule(s.Hold))
		if looked {
			row = append(row, presence(s))
		}
		if asked {
			row = append(row, reach.Words(s.Probes, s.Unseen))
		}
		if wide {
			row = append(row, s.Goroutine, strings.Join(s.Timers, " "), logFrom(s.Log), shortSymbol(s), s.File)
		}
		rows = append(rows, append(row, s.Title))
	}
	table(w, header, rows)
}

// logFrom returns from which -v on the kubelet's log shows the step; empty: it never does.
func logFrom(lines []stepLogJSON) string {
	best := -1
	for _, l := range lines {
		if l.Until == "" && (best < 0 || l.V < best) {
			best = l.V
		}
	}
	if best < 0 {
		return ""
	}
	return "-v=" + strconv.Itoa(best)
}

// holdRule says in a word where the step can be held.
func holdRule(h stepHoldJSON) string {
	if h.Enter == h.Exit {
		return h.Enter
	}
	return h.Enter + "/" + h.Exit
}

func presence(s stepJSON) string {
	if *s.Has {
		return "yes"
	}
	return "no: " + s.Missing
}

// shortSymbol leaves out the import path, which the file's path shows as well. A step that is
// no function has neither.
func shortSymbol(s stepJSON) string {
	if s.Seen != "" {
		return "reported by " + s.Seen
	}
	name := path.Base(s.Symbol)
	if s.Closure != "" {
		name += " literal " + s.Closure
	}
	return name
}
