package ash

import (
	"context"
	"fmt"
	"io"
)

// reader is a shell that reads its commands from stdin, a line at a time, as
// people type them. It ends with its input.
type reader struct{}

func (reader) run(sh *shell) int {
	code := 0
	for !sh.over() {
		var interrupt <-chan struct{}
		if sh.env.Interrupt != nil {
			interrupt = sh.env.Interrupt()
		}
		io.WriteString(sh.stdout, sh.env.Prompt)
		line, err := readLine(sh.stdin)
		select {
		case <-interrupt:
			continue
		default:
		}
		if line != "" {
			code = sh.interruptible(line, interrupt)
		}
		if err != nil {
			break
		}
	}
	return code
}

// readLine takes no byte behind the line: what follows may be a command's input.
func readLine(in io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxText {
		n, err := in.Read(b[:])
		if n > 0 {
			line = append(line, b[0])
		}
		if err != nil || n > 0 && b[0] == '\n' {
			return string(line), err
		}
	}
	return string(line), nil
}

// interruptible runs a line until it is interrupted.
func (sh *shell) interruptible(line string, interrupt <-chan struct{}) int {
	whole := sh.ctx
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	go func() {
		select {
		case <-interrupt:
			cancel()
		case <-ctx.Done():
		}
	}()
	sh.ctx = ctx
	code := sh.line(line)
	sh.ctx = whole
	if ctx.Err() != nil && whole.Err() == nil {
		sh.status = 130
		return sh.status
	}
	return code
}

// line runs one line. What is not understood is said, and the shell goes on.
func (sh *shell) line(text string) int {
	body, err := parseList(text, 0)
	if err != nil {
		fmt.Fprintf(sh.stderr, "sh: %v; no process runs here\n", err)
		sh.status = 127
		return sh.status
	}
	return sh.run(body)
}
