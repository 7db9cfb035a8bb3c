// Package lines has the forms in which the command line prints events: a line for each, for
// people or for scripts.
package lines

import (
	"cmp"

	"github.com/podstep/podstep/probes"
)

// Lines is a form of the events in text.
type Lines interface {
	Add(*probes.Event) error
	// Flush returns the text of all events since the last Flush.
	Flush() []byte
}

// FullName names a pod so that it can be pasted into the next command.
func FullName(p *probes.Pod) string {
	return cmp.Or(p.NamespacedName(), "a pod without a name")
}
