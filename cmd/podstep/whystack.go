package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/words"
)

// writeStack prints the stack that a breakpoint kept.
func writeStack(w io.Writer, s *evidence.Stack, now time.Time, l words.Lang) {
	fmt.Fprintf(w, "%s\n", l.Inf(words.Text("The stack at %s, %s ago:", "%s 处的调用栈，%s 前："), words.Clean(s.Step), age(s.At, now)))
	if s.Error != "" {
		fmt.Fprintf(w, "  %s\n", words.OneLine(s.Error))
	}
	for _, f := range s.Frames {
		writeFrame(w, &f)
	}
}

// maxValue bounds a value of a frame, in characters.
const maxValue = 200

func writeFrame(w io.Writer, f *wire.Frame) {
	fmt.Fprintf(w, "  %s", words.Clean(path.Base(f.Function)))
	if f.Line > 0 {
		fmt.Fprintf(w, "  %s:%d", words.Clean(f.File), f.Line)
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		fmt.Fprintf(w, "      %s = %s\n", words.Clean(name), words.Cut(words.Short(f.Values[name]), maxValue))
	}
}
