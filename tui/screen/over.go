package screen

// Overlay is something on top of the rest.
type Overlay struct {
	Kind  OverlayKind
	Title string
	// Text is what a dialog says or a page shows; each line is a paragraph.
	Text []string
	// Input is the search line of a palette.
	Input *Input
	Items []Item
	// Found is the text that is looked for in a page, in lower case. Matches is how many lines of the page have it.
	Found   string
	Matches int
	// Hints are those keys of a page that not all pages have.
	Hints []Hint
	// Stack is what OverStack shows.
	Stack *Stack
	// Top, Total and Cursor are as in PodList.
	Top, Total, Cursor int
	// Buttons of a dialog; Cursor is the chosen one.
	Buttons []string
	// Armed is false while the dialog ignores keys, because it has just appeared and they may not be meant for it.
	Armed  bool
	Danger bool
}

// OverlayKind says what is on top.
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
	// Off says why the item cannot be chosen now.
	Off string
	// Match has the places in Text, in runes, that match what was typed.
	Match []int
}
