package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/podstep/podstep/docs/tours"
	"github.com/podstep/podstep/tui/state"
)

// Options say how the UI looks and what it begins with.
type Options struct {
	Lang state.Lang
	// Theme is one of Themes.
	Theme string
	// ASCII draws with no other characters; NoColour without colours.
	ASCII, NoColour bool
	NoMouse         bool
	// Plain says which switch chose plain lines; empty for the screen.
	Plain string
	// Lab: the node was started for this screen.
	Lab bool
	// Tour is the walk to begin with, by name.
	Tour string
	// Filter is the filter to begin with.
	Filter string
	// Record is the file to record to from the beginning.
	Record string
	// Cluster does what walks do to a cluster.
	Cluster Cluster
}

// Cluster does what a walk needs done at the API server or on the node.
type Cluster interface {
	Do(ctx context.Context, a *tours.Action) error
	// Clear deletes what an action would make, if it is there from before.
	Clear(ctx context.Context, a *tours.Action) error
	// Undo deletes what the actions made, and is content with what is gone.
	Undo(ctx context.Context, done []*tours.Action) error
}

// Themes are the names of the themes.
func Themes() []string { return slices.Clone(themeNames) }

// Terminal is what is known of the terminal before it is used.
type Terminal struct {
	// In and Out tell whether keys come from a terminal and lines go to one.
	In, Out bool
	Getenv  func(string) string
}

// Adapt fills in what the environment says and the person did not. Language,
// theme and the switches that are set already stay.
func (o *Options) Adapt(t Terminal) {
	if o.Lang == "" {
		o.Lang = state.LangOf(t.Getenv("LC_ALL"), t.Getenv("LC_MESSAGES"), t.Getenv("LANG"))
	}
	o.NoColour = o.NoColour || t.Getenv("NO_COLOR") != ""
	o.ASCII = o.ASCII || !utf8Locale(t.Getenv)
	if o.Plain == "" {
		o.Plain = plainBecause(t)
	}
}

// plainBecause says what in the environment asks for plain lines.
func plainBecause(t Terminal) string {
	switch a := strings.ToLower(t.Getenv("ACCESSIBLE")); {
	case a != "" && a != "0" && a != "false":
		return "ACCESSIBLE"
	case t.Getenv("TERM") == "dumb":
		return "TERM=dumb"
	case !t.Out:
		return "stdout is no terminal"
	case !t.In:
		return "stdin is no terminal"
	}
	return ""
}

// utf8Locale tells whether the terminal can be expected to show Unicode. Without
// any locale that is not said, and most terminals do.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
