package logstory

import (
	"errors"
	"os"

	"github.com/podstep/podstep/agent/trace"
)

// OpenAny opens a trace file, or logs. Of several files all have to be logs.
func OpenAny(names []string, o Options) (trace.Recording, error) {
	if len(names) == 1 && names[0] != Stdin && !isDirectory(names[0]) {
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

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
