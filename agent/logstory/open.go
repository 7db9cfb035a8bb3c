package logstory

import (
	"errors"
	"os"

	"github.com/podstep/podstep/agent/trace"
)

// OpenAny opens a trace file, or logs. Of several files all have to be logs.
func OpenAny(names []string, o Options) (trace.Recording, error) {
	if len(names) == 1 && IsFile(names[0]) {
		r, err := trace.Open(names[0])
		if !errors.Is(err, trace.ErrNoTrace) {
			if err != nil {
				return nil, err
			}
			return r, nil
		}
	}
	return Open(names, o)
}

// IsFile reports whether a name stands for one file: a directory, a node and the standard input are none. What does not
// exist counts as a file, and the error comes when it is opened.
func IsFile(name string) bool {
	if _, is := NodeOf(name); is || name == Stdin {
		return false
	}
	info, err := os.Stat(name)
	return err != nil || !info.IsDir()
}
