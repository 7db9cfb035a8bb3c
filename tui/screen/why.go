package screen

import "github.com/podstep/podstep/probes/words"

// MainWhy is why the selected pod is where it is: the causes that are found, with
// their evidence and what to do.
const MainWhy Main = "why"

// WhyName is what the view of causes is called.
var WhyName = words.Text("Why", "原因")

// Causes is why a pod is where it is, an item below the other.
type Causes struct {
	Items  []CauseItem
	Cursor int
	// Asking is set while the cluster and the node are asked; what is shown is then
	// what was known before.
	Asking bool
	Empty  string
}

// CauseItem is one line of it, which may be long: a finding's title, its sentence, an
// evidence, a thing to do.
type CauseItem struct {
	Kind CauseKind
	// Label is what stands before the text, such as "do"; empty: nothing.
	Label string
	Text  string
	// Aside is who said it and how long ago.
	Aside string
	// Goes is what Enter does there: CauseToEvent, CauseToWalk; empty: nothing.
	Goes string
}

// CauseKind is how an item is drawn.
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
)

// Causes is the body of the screen if it is one, else nil.
func (s *Screen) Causes() *Causes {
	c, _ := s.Body.(*Causes)
	return c
}

// Copied is the selected item's text: a command, to be pasted elsewhere.
func (c *Causes) Copied() string {
	if c.Cursor < 0 || c.Cursor >= len(c.Items) {
		return ""
	}
	return c.Items[c.Cursor].Text
}
