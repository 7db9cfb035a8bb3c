package probes

import "fmt"

// StoryNote states what a row of a story shows of a call behind the step's title. For a step without a note, the
// row shows the results, or else the fields, in their order.
type StoryNote struct {
	// None: the title says it all.
	None bool `yaml:"none"`
	// Text is shown for every call.
	Text Text `yaml:"text"`
	// Show are the fields and results whose values are shown, in this order. As is how they are shown.
	Show []string `yaml:"show"`
	As   Format   `yaml:"as"`
	// Flag is a field or result that is true or false. With Show, the values are shown if it is true. Without Show,
	// Yes or No is shown.
	Flag string `yaml:"flag"`
	Yes  Text   `yaml:"yes"`
	No   Text   `yaml:"no"`
}

// Given reports whether the step has a note of its own.
func (n *StoryNote) Given() bool {
	return n.None || n.Text != (Text{}) || len(n.Show) > 0 || n.Flag != ""
}

// Format is how the values of a note are put into words.
type Format string

// The formats. They take the fields of StoryNote.Show, in their order. Formats has how many each takes.
const (
	FormatShort          Format = ""
	FormatWhole          Format = "whole"
	FormatBase           Format = "base"
	FormatDelay          Format = "delay"
	FormatGrace          Format = "grace"
	FormatContainers     Format = "containers"
	FormatKill           Format = "kill"
	FormatVolumes        Format = "volumes"
	FormatFound          Format = "found"
	FormatPlan           Format = "plan"
	FormatAdmitted       Format = "admitted"
	FormatDifference     Format = "difference"
	FormatUpdate         Format = "update"
	FormatBegin          Format = "begin"
	FormatStatus         Format = "status"
	FormatStored         Format = "stored"
	FormatContainerState Format = "containerState"
	FormatEvent          Format = "event"
)

// FormatInfo describes a format.
type FormatInfo struct {
	Format Format
	// Fields is how many fields the format takes; 0: any number.
	Fields int
	Text   string
}

// Formats are all formats.
var Formats = []FormatInfo{
	{FormatShort, 0, "the values, ids cut short"},
	{FormatWhole, 0, "the values in full"},
	{FormatBase, 1, "the last part of a path"},
	{FormatDelay, 1, "a duration after which something comes again"},
	{FormatGrace, 1, "a grace period in seconds"},
	{FormatContainers, 1, "a number of containers"},
	{FormatKill, 2, "a number of containers that are killed, and their grace period in seconds"},
	{FormatVolumes, 1, "a number of volumes: wanted, or mounted once the call is over"},
	{FormatFound, 2, "how many were found of how many"},
	{FormatPlan, 6, "the plan of a turn: kill the pod, make a sandbox, the number of containers to kill, init containers and containers to start, the number of containers to resize"},
	{FormatAdmitted, 3, "admitted, or refused with reason and message"},
	{FormatDifference, 3, "what differs: a deletion, the spec, or only the status"},
	{FormatUpdate, 2, "the type of an update, and the grace period of a deletion"},
	{FormatBegin, 2, "what the turn is for, or that the pod may not start yet"},
	{FormatStatus, 3, "phase and reason, and whether the conditions say ready"},
	{FormatStored, 2, "the phase, and whether anything changed"},
	{FormatContainerState, 5, "state and reason of a container, exit code, restarts, ready"},
	{FormatEvent, 1, "the message of an Event; a warning's is shown as an error"},
}

// info returns the description of the format, or nil if it is none of Formats.
func (f Format) info() *FormatInfo {
	for i := range Formats {
		if Formats[i].Format == f {
			return &Formats[i]
		}
	}
	return nil
}

// noteProblems finds what is wrong with a step's note.
func (s *Step) noteProblems() (out []string) {
	n := &s.Story.Note
	add := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, "note: "+fmt.Sprintf(format, args...))
		}
	}
	for _, name := range append(n.Show[:len(n.Show):len(n.Show)], n.Flag) {
		op := name == "op" && s.Pod.Kind == PodUpdates // comes with the pods
		add(name != "" && !op && !has(s.Fields, name) && !has(s.Results, name), "there is no field %q", name)
	}
	info := n.As.info()
	add(info == nil, "there is no format %q", n.As)
	add(info != nil && info.Fields != 0 && info.Fields != len(n.Show), "format %q does not take %d fields", n.As, len(n.Show))
	add(n.As != "" && len(n.Show) == 0, "format %q has nothing to show", n.As)
	kinds := 0
	for _, is := range []bool{n.None, n.Text != (Text{}), len(n.Show) > 0 || n.Flag != ""} {
		if is {
			kinds++
		}
	}
	add(kinds > 1, "none, text and show exclude each other")
	add((n.Flag != "" && len(n.Show) == 0) != (n.Yes != (Text{}) || n.No != (Text{})), "yes and no go with a flag that shows nothing else")
	for _, t := range []Text{n.Text, n.Yes, n.No} {
		add((t.En == "") != (t.Zh == ""), "a text is missing in a language")
	}
	return out
}
