package screen

// TourCard is the present stop of a guided walk.
type TourCard struct {
	// Title is the walk's, Heading that of the stop it is at.
	Title, Heading string
	// Stop of Stops, from 1.
	Stop, Stops int
	Text        string
	// Wait is what the tour waits for, or which key goes on.
	Wait string
	// Whole is which key shows all of the card, where it is cut.
	Whole string
	// Question, and Answer once it is shown.
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
	// K is the place of the selected row among the N that have the text, from 1; 0:
	// it has not. More is set while not all rows were looked at.
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
	// Pod is whom it acts on, by name; empty if on no pod.
	Pod string
	// Off is why it does nothing now; empty if it does.
	Off string
}
