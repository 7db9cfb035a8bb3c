package tui

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/about"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/walk"
)

// Options say how the UI looks and what it begins with.
type Options struct {
	Lang words.Lang
	// Theme is one of Themes.
	Theme string
	// ASCII draws with ASCII characters alone, NoColour without colours.
	ASCII, NoColour bool
	NoMouse         bool
	// Plain names the switch that chose plain lines; empty for the screen.
	Plain string
	// Lab: the node was started for this screen.
	Lab bool
	// LabEnded is closed when that node has ended.
	LabEnded <-chan struct{}
	// Settings are what the person chose for good; nil if nothing is kept.
	Settings *settings.File
	// StateFile is the file in which the screen remembers what was done; empty if it remembers nothing.
	StateFile string
	// Tour is the walk to begin with, by name.
	Tour string
	// Pod is the pod to begin with; nil: the screen chooses.
	Pod *PodName
	// Filter is the filter to begin with.
	Filter string
	// Record is the file to record to from the beginning.
	Record string
	// Cluster makes the objects of walks.
	Cluster Cluster
	// About gets a pod's object, events and logs; nil if nobody can be asked.
	About about.Asker
	// Gather finds out why a pod is stuck; nil: nobody can be asked.
	Gather Gatherer
	// several: the screen is that of one node of several.
	several bool
}

// PodName names a pod.
type PodName struct{ Namespace, Name string }

// Cluster makes the objects of walks.
type Cluster interface {
	// BeginWalk begins a run of the walk of that name.
	BeginWalk(walk string) WalkRun
	// HasDevices reports whether the nodes have devices of a lab's DRA driver.
	HasDevices() bool
}

// WalkRun acts for one run of a walk.
type WalkRun = walk.Run

// Themes returns the names of the themes.
func Themes() []string { return slices.Clone(themeNames) }

// Terminal says what is known of the terminal before it is used.
type Terminal struct {
	// In and Out report whether keys come from a terminal and lines go to one.
	In, Out bool
	Getenv  func(string) string
}

// Adapt fills in from the settings and the environment what the person did not set. It leaves a language, a theme
// and switches that are set.
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
	o.ASCII = o.ASCII || !UTF8Locale(t.Getenv)
	if o.Plain == "" {
		o.Plain = plainBecause(t)
	}
}

// plainBecause names the part of the environment that asks for plain lines; empty if none does.
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

// UTF8Locale reports whether the terminal can be expected to show Unicode. It is true if no locale is set, because
// most terminals show it.
func UTF8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
