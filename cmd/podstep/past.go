package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/past"
)

// defaultRecordDir is where the service records to.
const defaultRecordDir = "/var/lib/podstep/record"

// lookBack is how much of the time before a moment is read to know what pods were doing then. What began earlier is
// carried over.
const lookBack = time.Hour

// pastChoice chooses the part of a recording that is read, besides the time.
type pastChoice struct {
	pods *agentpb.PodSelector // nil: all
	// at is the moment that is asked about; zero: the end.
	at time.Time
	// state: it is asked what pods are doing at that moment, not for all events.
	state bool
	// context: what is before the time is needed to understand it.
	context bool
	// from is where the recording is, and node whose it is there; nil: it is named by an argument.
	from past.Store
	node string
}

// openPast opens what a record directory has of the time that flags name.
func (a *app) openPast(from past.Store, f *logFlags, o *logstory.Options) (trace.Recording, error) {
	c := past.Choice{Since: o.Since, Until: o.Until, Pods: f.past.pods, Node: cmp.Or(f.past.node, o.Node), Context: f.past.context}
	if f.past.state {
		c.Context, c.LastRun, c.Back = true, true, lookBack
		if !f.past.at.IsZero() {
			c.Until = f.past.at
		}
	}
	r, err := past.Open(from, c)
	if err != nil {
		return nil, err
	}
	if at := f.past.at; !at.IsZero() {
		if last, is := r.Recorded(at); !is {
			a.printf("podstep: %s has nothing of %s; this is as of %s", from, at.Local().Format(time.DateTime), last.Local().Format(time.DateTime))
		}
	}
	return &noted{r, a, 0}, nil
}

// noted prints what a reader of a record directory should know.
type noted struct {
	*past.Recording
	app     *app
	printed int
}

func (n *noted) Close() error {
	notes := n.Notes()
	for _, note := range notes[n.printed:] {
		n.app.printf("podstep: %s", note)
	}
	n.printed = len(notes)
	return n.Recording.Close()
}

// atFlag is the --at flag.
type atFlag struct{ text string }

func (f *atFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "at", "", "what was known then, by what podstep recorded: "+timeHelp)
	cmd.RegisterFlagCompletionFunc("at", cobra.NoFileCompletions)
}

// time returns the moment; zero: none is named.
func (f *atFlag) time() (time.Time, error) {
	at, err := timeOf("at", f.text, time.Local)
	if err == nil && at.After(time.Now()) {
		return at, usagef("--at %s is yet to come", f.text)
	}
	return at, err
}
