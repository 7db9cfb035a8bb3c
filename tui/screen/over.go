package screen

// Overlay is something on top of the rest.
type Overlay struct {
	Kind  OverlayKind
	Title string
	// Text is what a dialog says or a page shows, one paragraph a line.
	Text []string
	// Input is the search line of a palette.
	Input *Input
	Items []Item
	// Found is what is looked for in a page, in lower case, and Matches how many of its
	// lines have it.
	Found   string
	Matches int
	// Hints are keys of a page that not all pages have.
	Hints []Hint
	// Stack is what OverStack shows.
	Stack *Stack
	// Top, Total and Cursor as in PodList.
	Top, Total, Cursor int
	// Buttons of a dialog; Cursor is the chosen one.
	Buttons []string
	// Armed is false while keys are ignored because they may not be meant for
	// the dialog that has just appeared.
	Armed  bool
	Danger bool
}

// OverlayKind is what is on top.
type OverlayKind int

const (
	OverDialog OverlayKind = iota
	OverPalette
	OverHelp
	OverTours
	OverPage
	OverStack
)

// Item is a line of a palette, of help, or of a list to choose from.
type Item struct {
	Group string
	Text  string
	Key   string
	// Off is why it cannot be chosen now.
	Off string
	// Match has the places in Text that match what was typed, in runes.
	Match []int
}
