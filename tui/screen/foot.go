package screen

// TourCard is the present stop of a guided walk.
type TourCard struct {
	// Title is the walk's title, Heading that of its present stop.
	Title, Heading string
	// Stop is the number of the present stop, from 1, and Stops the number of all.
	Stop, Stops int
	Text        string
	// Wait says what the walk waits for, or which key goes on.
	Wait string
	// Whole names the key that shows all of the card, if the card is cut.
	Whole string
	// Question is the stop's question. Answer is empty until the answer is shown.
	Question, Answer string
}

// Input is a line that is being typed.
type Input struct {
	Prompt string
	Text   string
	// Cursor is the place of the cursor in Text, in runes.
	Cursor int
	Error  string
	Help   string
}

// Finding is a text that is looked for in the pane that has the keys.
type Finding struct {
	Text string
	// N rows have the text. K is the place of the selected row among them, from 1; 0 if the selected row does not
	// have it. More is set while some rows were not looked at.
	K, N int
	More bool
}

// Notice is a message that stays until the next key or for a while.
type Notice struct {
	Text  string
	Error bool
}

// Hint is a key and what it does now.
type Hint struct {
	Key, Text string
	// Pod names the pod that the key acts on; empty if it acts on none.
	Pod string
	// Off says why the key does nothing now; empty if it does something.
	Off string
}
