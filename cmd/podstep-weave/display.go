package main

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/charmbracelet/x/term"
)

// display writes lines about a build, and between them the output of the go command. In a
// terminal there is one line, at the end, which is overwritten in place. It needs only carriage
// returns and spaces, so that any terminal will do.
type display struct {
	to    io.Writer
	width func() int // columns of the terminal, 0 if it is none

	mu     sync.Mutex
	drawn  int  // columns of the line in place
	inLine bool // the last output of the go command does not end with a line's end
}

// newDisplay writes to a file, which may be a terminal.
func newDisplay(to *os.File) *display {
	d := &display{to: to, width: func() int { return 0 }}
	if term.IsTerminal(to.Fd()) && os.Getenv("TERM") != "dumb" {
		d.width = func() int {
			columns, _, err := term.GetSize(to.Fd())
			if err != nil || columns < 1 {
				return 80
			}
			return columns
		}
	}
	return d
}

// inPlace reports whether lines are written over each other.
func (d *display) inPlace() bool { return d.width() > 0 }

// Write passes on what the go command writes.
func (d *display) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	if len(text) > 0 {
		d.inLine = text[len(text)-1] != '\n'
	}
	return d.to.Write(text)
}

// show writes the line. In a terminal it overwrites the one before. It waits until the go
// command's last line is complete.
func (d *display) show(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inLine {
		return
	}
	columns := d.width()
	if columns == 0 {
		_, _ = io.WriteString(d.to, line+"\n")
		return
	}
	// At its last column a terminal may go to the next line.
	line = line[:min(len(line), columns-1)]
	pad := strings.Repeat(" ", max(0, min(d.drawn, columns-1)-len(line)))
	_, _ = io.WriteString(d.to, "\r"+line+pad)
	d.drawn = len(line)
}

// end removes the line in place, and writes the last line, if there is one.
func (d *display) end(last string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	if last != "" {
		_, _ = io.WriteString(d.to, last+"\n")
	}
}

func (d *display) clear() {
	if d.drawn > 0 {
		_, _ = io.WriteString(d.to, "\r"+strings.Repeat(" ", d.drawn)+"\r")
		d.drawn = 0
	}
}
