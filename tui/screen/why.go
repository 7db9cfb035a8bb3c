package screen

import "github.com/podstep/podstep/probes/words"

// MainWhy is the view that says why the selected pod is where it is: the causes, with their evidence and what to do.
const MainWhy Main = "why"

// WhyName is the name of the view of causes.
var WhyName = words.Text("Why", "原因")

// Causes says why a pod is where it is, in items below each other.
type Causes struct {
	Items  []CauseItem
	Cursor int
	// Asking is set while podstep asks the cluster and the node. The causes shown then are those known before.
	Asking bool
	Empty  string
}

// CauseItem is one line of the causes, which may be long: a finding's title, its sentence, an evidence, a thing to
// do.
type CauseItem struct {
	Kind CauseKind
	// Label stands before the text, such as "do"; empty if nothing does.
	Label string
	Text  string
	// Aside says who said it and how long ago.
	Aside string
	// Goes is what Enter does at the item: CauseToEvent, CauseToWalk or CauseToPod; empty if it does nothing.
	Goes string
}

// CauseKind says how an item is drawn.
type CauseKind int

// The kinds of items.
const (
	CauseTitle CauseKind = iota
	CauseText
	CauseField
	CauseCommand
	CauseNote
)

// What Enter does at an item.
const (
	CauseToEvent = "event"
	CauseToWalk  = "walk"
	CauseToPod   = "pod"
)

// Causes returns the body of the screen if it is a list of causes, else nil.
func (s *Screen) Causes() *Causes {
	c, _ := s.Body.(*Causes)
	return c
}

// Copied returns the selected item's text. That may be a command, to be pasted elsewhere.
func (c *Causes) Copied() string {
	if c.Cursor < 0 || c.Cursor >= len(c.Items) {
		return ""
	}
	return c.Items[c.Cursor].Text
}
