package tui

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/about"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/walk"
)

// Options state how the UI looks and what it begins with.
type Options struct {
	Lang words.Lang
	// Theme is one of Themes.
	Theme string
	// ASCII draws with no other characters; NoColour without colours.
	ASCII, NoColour bool
	NoMouse         bool
	// Plain is which switch chose plain lines; empty for the screen.
	Plain string
	// Lab: the node was started for this screen.
	Lab bool
	// LabEnded is closed when that node has ended.
	LabEnded <-chan struct{}
	// Settings are what the person chose for good; nil for none.
	Settings *settings.File
	// StateFile is where the screen remembers what was done, empty for nowhere.
	StateFile string
	// Tour is the walk to begin with, by name.
	Tour string
	// Filter is the filter to begin with.
	Filter string
	// Record is the file to record to from the beginning.
	Record string
	// Cluster is where walks make their objects.
	Cluster Cluster
	// About is asked for a pod's object, events and logs; nil: nobody can be asked.
	About about.Asker
	// Gather finds out why a pod is stuck; nil: nobody can be asked.
	Gather Gatherer
}

// Cluster is where walks make their objects.
type Cluster interface {
	// BeginWalk begins a run of the walk of that name.
	BeginWalk(walk string) WalkRun
}

// WalkRun is what one run of a walk does.
type WalkRun = walk.Run

// Themes are the names of the themes.
func Themes() []string { return slices.Clone(themeNames) }

// Terminal is what is known of the terminal before it is used.
type Terminal struct {
	// In and Out report whether keys come from a terminal and lines go to one.
	In, Out bool
	Getenv  func(string) string
}

// Adapt fills in what the settings and the environment say and the person did not.
// Language, theme and the switches that are set already stay.
func (o *Options) Adapt(t Terminal) {
	if o.Lang == "" {
		o.Lang = words.Lang(o.Settings.Get(settings.Language))
	}
	if o.Theme == "" {
		o.Theme = o.Settings.Get(settings.Theme)
	}
	if o.Lang == "" {
		o.Lang = words.LangOf(t.Getenv("LC_ALL"), t.Getenv("LC_MESSAGES"), t.Getenv("LANG"))
	}
	o.NoColour = o.NoColour || t.Getenv("NO_COLOR") != ""
	o.ASCII = o.ASCII || !utf8Locale(t.Getenv)
	if o.Plain == "" {
		o.Plain = plainBecause(t)
	}
}

// plainBecause reports what in the environment asks for plain lines.
func plainBecause(t Terminal) string {
	switch a := strings.ToLower(t.Getenv("ACCESSIBLE")); {
	case a != "" && a != "0" && a != "false":
		return "ACCESSIBLE"
	case t.Getenv("TERM") == "dumb":
		return "TERM=dumb"
	case !t.Out:
		return "stdout is not a terminal"
	case !t.In:
		return "stdin is not a terminal"
	}
	return ""
}

// utf8Locale reports whether the terminal can be expected to show Unicode. Without
// any locale that is not said, and most terminals do.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
