package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podstep/podstep/probes/words"
)

// app has what all commands share.
type app struct {
	name     string
	out, err io.Writer
	*where

	printing sync.Mutex // of printf: several nodes are asked at once
}

func (a *app) root() *cobra.Command {
	var ui uiFlags
	root := &cobra.Command{
		Use:   "podstep",
		Short: "Watch, hold and step single pods through the kubelet",
		Long: `podstep watches, holds and steps single pods through the kubelet, while every
other pod on the node goes on living.

Without a command it opens the screen on the agent that it finds; ? there lists
the keys. podstep lab starts a node to try it on, podstep attach looks into the
kubelet that runs on this machine.

The agent is inside podstep-kubelet or podstep attach; podstep speaks to it over
a unix socket. On macOS and Windows podstep shows recorded traces (replay) and asks
the API server (why); what takes a node (attach, lab, doctor, restore) needs Linux.

Name a pod as [NAMESPACE/]NAME or with -n NAMESPACE, as for kubectl; without a
namespace podstep searches all of them. Results go to stdout, messages to stderr.
The exit code is 0 on success, 1 on failure, and 2 if the command line is wrong.`,
		Args:                  noSuchCommand,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.open(cmd.Context(), &ui) },
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableAutoGenTag:     true,
		DisableFlagsInUseLine: true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	if a.name == pluginName {
		a.asPlugin(root, &ui)
	}
	a.addTo(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.findAllNodes(cmd.Context()) }
	ui.addLive(root)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(a.help())
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "See:"},
		&cobra.Group{ID: "hold", Title: "Hold:"},
		&cobra.Group{ID: "about", Title: "About:"},
	)
	for group, verbs := range map[string][]*cobra.Command{
		"see":   {a.pods(), a.why(), a.trace(), a.alert(), a.replay(), a.export(), a.compare(), a.whatif(), a.top(), a.steps(), a.mcp(), a.connect(), a.lab(), a.attach()},
		"hold":  {a.hold(), a.holds(), a.step(), a.letGo(), a.retry(), a.breakpoints(), a.stack(), a.printValue(), a.dap()},
		"about": {a.doctor(), a.restore(), a.version(), a.completion(), a.stdio()},
	} {
		for _, v := range verbs {
			v.GroupID = group
			root.AddCommand(v)
		}
	}
	root.AddCommand(a.docs(), filterTopic())
	root.AddCommand(companions()...)
	root.SetHelpCommandGroupID("about")
	eachCommand(root, func(c *cobra.Command) { c.DisableFlagsInUseLine = true })
	return root
}

// asPlugin makes the program a plugin of kubectl: POD alone is short for connect POD.
func (a *app) asPlugin(root *cobra.Command, ui *uiFlags) {
	var flags connectFlags
	flags.add(root)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: a.name}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return noSuchCommand(cmd, args)
	}
	screen := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return screen(cmd, args)
		}
		err := a.connectTo(cmd.Context(), args[0], &flags, ui)
		if near := nearest(args[0], commandNames(cmd)); err != nil && len(near) > 0 {
			err = fmt.Errorf("%w; or did you mean %s %s?", err, a.name, strings.Join(near, ", "))
		}
		return err
	}
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, do)
	}
}

// printf prints a line for the person at the terminal.
func (a *app) printf(format string, args ...any) {
	a.printing.Lock()
	defer a.printing.Unlock()
	fmt.Fprintln(a.err, words.Clean(fmt.Sprintf(format, args...)))
}

// help is cobra's help command, but it fails for a topic that does not exist.
func (a *app) help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(cmd.Root(), args)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// noSuchCommand checks the arguments of commands that only have commands below them: an
// argument was meant to be such a command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := nearest(args[0], commandNames(cmd)); len(near) > 0 {
		return usagef("there is no command %q; did you mean %s %s?", args[0], cmd.CommandPath(), strings.Join(near, ", "))
	}
	return usagef("there is no command %q", args[0])
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// arguments checks how many arguments there are, and names those that are meant.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s is missing", what)
		case len(args) > most && most == 0:
			return usagef("unexpected argument %q: the command takes none", args[0])
		case len(args) > most:
			return usagef("unexpected argument %q: the command takes only %s", args[most], what)
		}
		return nil
	}
}

// flagError puts pflag's errors into a sentence: the flag, the value, what is wrong with the value.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usagef("%s", err)
	}
	why := errors.Unwrap(invalid)
	var number *strconv.NumError
	switch {
	case !errors.As(why, &number):
	case strings.HasPrefix(strings.TrimSpace(invalid.GetValue()), "-"):
		why = errors.New("it must not be negative")
	default:
		why = fmt.Errorf("not a number that fits here (%w)", number.Err)
	}
	return usagef("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), why)
}
