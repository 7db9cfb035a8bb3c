package export

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/probes/words"
)

// Folded writes folded stacks: a line for each stack with its frames from the outermost on, and the microseconds in which
// it was the innermost. Flame graph tools read it.
type Folded struct {
	*stacks
	w     io.Writer
	times map[string]time.Duration
}

var _ calls.Taker = (*Folded)(nil)

// NewFolded makes an exporter to folded stacks.
func NewFolded(w io.Writer, about *About) Exporter {
	f := &Folded{w: w, times: map[string]time.Duration{}}
	f.stacks = newStacks(about, f.count)
	return f
}

// waitPrefix begins the frame of what a step waits for.
const waitPrefix = "waits: "

// frames returns the names of a stack, the pod's first.
func (s *stacks) frames(of stack) []string {
	out := []string{"node " + s.about.Info.GetNode()}
	if of.pod != nil {
		out[0] = cmp.Or(of.pod.NamespacedName(), "a pod without a name")
	}
	out = append(out, of.steps...)
	if of.wait != "" {
		out = append(out, waitPrefix+of.wait)
	}
	return out
}

// foldedFrame keeps a frame's name from ending the frame or the line.
var foldedFrame = strings.NewReplacer(";", ",", "\n", " ", "\r", " ")

func (f *Folded) count(of stack) {
	frames := f.frames(of)
	for i := range frames {
		frames[i] = words.Clean(foldedFrame.Replace(frames[i]))
	}
	f.times[strings.Join(frames, ";")] += of.took
}

// Close writes the stacks in order. Those that took less than half a microsecond are left out.
func (f *Folded) Close() error {
	for _, line := range slices.Sorted(maps.Keys(f.times)) {
		us := f.times[line].Round(time.Microsecond).Microseconds()
		if us == 0 {
			continue
		}
		if _, err := fmt.Fprintf(f.w, "%s %d\n", line, us); err != nil {
			return err
		}
	}
	return nil
}
