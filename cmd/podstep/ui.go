package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/cmd/podstep/node"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/plain"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/tours"
)

// uiFlags are the flags of commands that open the screen.
type uiFlags struct {
	lang, theme choice
	ascii       bool
	plain       bool
	noMouse     bool
	tour        string
	record      string
	config      string
}

// add declares the flags that any screen has.
func (f *uiFlags) add(cmd *cobra.Command) {
	f.lang.of = []string{string(words.English), string(words.Chinese)}
	f.theme.of = tui.Themes()
	f.lang.add(cmd, "lang", "", "language of the screen (default: the settings', else the locale's)")
	f.theme.add(cmd, "theme", "", "colours of the screen (default: the settings', else auto)")
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII only (default where the locale is not UTF-8)")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "lines instead of a screen, for screen readers (default where there is no terminal)")
	cmd.Flags().StringVar(&f.config, "config", "", "settings `FILE` of the screen (default $XDG_CONFIG_HOME/podstep/config.yaml)")
	cmd.Flags().BoolVar(&f.noMouse, "no-mouse", false, "leave the mouse to the terminal")
}

// addLive declares the flags of screens with an agent.
func (f *uiFlags) addLive(cmd *cobra.Command) {
	f.add(cmd)
	cmd.Flags().StringVar(&f.tour, "tour", "", "begin with the guided walk `NAME`")
	cmd.RegisterFlagCompletionFunc("tour", completeTours)
	cmd.Flags().StringVar(&f.record, "record", "", "record to `FILE` from the beginning")
}

func completeTours(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, err := tours.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name+"\t"+all[i].Title.En)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// options returns the screen's options, from flags, environment and terminal.
func (f *uiFlags) options() (tui.Options, error) {
	o := tui.Options{
		Lang: words.Lang(f.lang.value), Theme: f.theme.value, ASCII: f.ascii, NoMouse: f.noMouse,
		Tour: f.tour, Record: f.record, StateFile: tui.StateFile(os.Getenv),
		Settings: settings.Load(cmp.Or(f.config, settings.Path(os.Getenv))),
	}
	if f.plain {
		o.Plain = "--plain"
	}
	if f.config != "" {
		if _, err := os.Stat(f.config); err != nil {
			return o, usagef("--config: %v; an empty file is one without settings", err)
		}
	}
	if f.tour != "" {
		all, err := tours.Load()
		if err != nil {
			return o, err
		}
		if tours.Find(all, f.tour) == nil {
			return o, usagef("--tour %q: there is no such walk; press Tab after --tour for the list", f.tour)
		}
	}
	o.Adapt(tui.Terminal{In: term.IsTerminal(os.Stdin.Fd()), Out: term.IsTerminal(os.Stdout.Fd()), Getenv: os.Getenv})
	if o.Plain != "" {
		return o, f.withoutScreen("podstep prints lines")
	}
	return o, nil
}

// needsDevices reports whether the walk to begin with needs a lab with devices.
func (f *uiFlags) needsDevices() (bool, error) {
	if f.tour == "" {
		return false, nil
	}
	all, err := tours.Load()
	if err != nil {
		return false, err
	}
	tour := tours.Find(all, f.tour)
	return tour != nil && tour.Needs.Devices, nil
}

// withoutScreen refuses the flags that only the screen obeys. why says what podstep does in its place.
func (f *uiFlags) withoutScreen(why string) error {
	switch {
	case f.record != "":
		return usagef("--record is of the screen, and %s in its place; record with podstep trace -w %s", why, f.record)
	case f.tour != "":
		return usagef("--tour is of the screen, and %s in its place; choose one of the two", why)
	}
	return nil
}

// open runs podstep without a command.
func (a *app) open(ctx context.Context, f *uiFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	return a.live(ctx, f, o)
}

// live opens the screen on the agent that the command line names.
func (a *app) live(ctx context.Context, f *uiFlags, o tui.Options) error {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return err
	}
	if len(nodes) > 1 {
		return a.liveNodes(ctx, nodes, o)
	}
	c, err := nodes[0].Dial(ctx)
	if err != nil {
		return fmt.Errorf("%w; %s", err, node.WaysIn)
	}
	a.addSources(&o)
	return a.show(ctx, session.NewLive(c), o)
}

// addSources lets the screen use the cluster: for walks, and to find out about pods.
func (a *app) addSources(o *tui.Options) {
	o.Cluster = walks{a.walkCluster()}
	if g := a.gatherer(); g != nil {
		o.Gather, o.About = g, g
	}
}

// walkCluster returns where the objects of walks are made.
func (a *app) walkCluster() *cluster.Cluster {
	socket := a.socketOrDefault()
	if a.elsewhere() {
		socket = ""
	}
	return cluster.Find(socket, a.kubeconfig, os.Getenv("KUBECONFIG"))
}

// liveNodes opens the screen on several nodes.
func (a *app) liveNodes(ctx context.Context, nodes []fleet.Node, o tui.Options) error {
	switch {
	case o.Plain != "":
		return usagef("plain lines are of one node, and there are %d; choose one with --node NAME", len(nodes))
	case o.Record != "" || o.Tour != "":
		return usagef("--record and --tour are of one node, and there are %d; choose one with --node NAME", len(nodes))
	}
	if g := a.gatherer(); g != nil {
		o.Gather = g // for the pods that have no node
	}
	var sources []tui.Source
	for _, n := range nodes {
		one := &app{name: a.name, out: a.out, err: a.err, where: a.with(n.Place)}
		sources = append(sources, tui.Source{Node: n, Open: func(ctx context.Context) (session.Session, tui.Options, error) {
			c, err := n.DialWithin(ctx, fleet.Patience)
			if err != nil {
				return nil, o, err
			}
			of := o
			one.addSources(&of)
			return session.NewLive(c), of, nil
		}})
	}
	all := fleet.Follow(nodes)
	defer all.Close()
	return tui.RunSources(ctx, sources, all, o, a.out)
}

// show shows a session on the screen, or in lines.
func (a *app) show(ctx context.Context, s session.Session, o tui.Options) error {
	if o.Plain == "" {
		return tui.Run(ctx, s, o, a.out)
	}
	for _, wrong := range o.Settings.Problems(o.Lang) {
		fmt.Fprintln(a.err, wrong)
	}
	p := plain.Options{Lang: o.Lang, Because: o.Plain, Out: a.out}
	if term.IsTerminal(os.Stdin.Fd()) || o.Plain == "--plain" {
		p.In = os.Stdin
	}
	return plain.Run(ctx, s, p)
}

// walks lets the screen's walks use the cluster.
type walks struct{ *cluster.Cluster }

func (w walks) BeginWalk(walk string) tui.WalkRun { return w.Begin(walk) }
