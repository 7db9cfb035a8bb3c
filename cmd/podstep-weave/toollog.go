package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/podstep/podstep/probes/weave"
)

// toolLogVariable names the variable that names the tool log. Each process that the go command
// starts as -toolexec writes to this file what it begins and ends. The go command does not take
// the variable into the identity of a package.
const toolLogVariable = "PODSTEP_WEAVE_TOOLLOG"

// The kinds of an entry of the tool log, which is a line: kind, space, import
// path.
const (
	compiling = "compiling"
	compiled  = "compiled"
	linking   = "linking"
	linked    = "linked"
)

// entry is a tool that has begun or ended its work for a package.
type entry struct{ kind, path string }

// kinds returns the kinds of entries for the begin and the end of a tool's call. They are empty
// for tools other than the compiler and the linker, and for calls that only ask for a version.
func kinds(tool string, args []string) (begin, end string) {
	switch {
	case weave.IsVersion(args):
		return "", ""
	case weave.IsCompiler(tool):
		return compiling, compiled
	case strings.TrimSuffix(filepath.Base(tool), ".exe") == "link":
		return linking, linked
	}
	return "", ""
}

// logTool appends to the tool log, if there is one. A log that cannot be written
// costs the display, never the build.
func logTool(kind string) {
	name, path := os.Getenv(toolLogVariable), os.Getenv("TOOLEXEC_IMPORTPATH")
	if name == "" || kind == "" || path == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer f.Close()
	// One short write to the end of a file: entries of processes that run at
	// the same time do not mix.
	_, _ = f.WriteString(kind + " " + path + "\n")
}

// toolLog reads what has been written to the log since the last read.
type toolLog struct {
	from io.Reader
	rest []byte // of a line that is not complete yet
}

func (l *toolLog) read() ([]entry, error) {
	text, err := io.ReadAll(l.from)
	if err != nil {
		return nil, fmt.Errorf("read tool log: %w", err)
	}
	text = append(l.rest, text...)
	end := bytes.LastIndexByte(text, '\n') + 1
	l.rest = bytes.Clone(text[end:])
	var out []entry
	for line := range strings.Lines(string(text[:end])) {
		if kind, path, found := strings.Cut(strings.TrimSuffix(line, "\n"), " "); found {
			out = append(out, entry{kind, path})
		}
	}
	return out, nil
}
