package ash

import (
	"context"
	"fmt"
	"io"
)

// readLines runs a shell that reads its commands from stdin, line by line as a person types them. It ends with its
// input.
func (sh *shell) readLines() int {
	code := 0
	for sh.env.Stdin != nil && sh.ctx.Err() == nil {
		var interrupt <-chan struct{}
		if sh.env.Interrupt != nil {
			interrupt = sh.env.Interrupt()
		}
		io.WriteString(sh.env.Stdout, sh.env.Prompt)
		line, err := readLine(sh.env.Stdin)
		select {
		case <-interrupt:
			continue
		default:
		}
		if line != "" {
			code = sh.interruptible(line, interrupt)
		}
		if err != nil || sh.runner.Exited() {
			break
		}
	}
	return code
}

// readLine reads no byte behind the line: the bytes there may be a command's input.
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

// interruptible runs a line until it ends or is interrupted.
func (sh *shell) interruptible(line string, interrupt <-chan struct{}) int {
	ctx, cancel := context.WithCancel(sh.ctx)
	defer cancel()
	go func() {
		select {
		case <-interrupt:
			cancel()
		case <-ctx.Done():
		}
	}()
	code := sh.line(ctx, line)
	if ctx.Err() != nil && sh.ctx.Err() == nil {
		return sh.run(sh.ctx, hidden("status", "130"))
	}
	return code
}

// line runs one line. If it is not understood, line prints that and the shell goes on.
func (sh *shell) line(ctx context.Context, text string) int {
	stmts, err := sh.program.parse(text, 0)
	if err != nil {
		fmt.Fprintf(sh.env.Stderr, "sh: %v; no process runs here\n", err)
		return sh.run(ctx, hidden("status", "127"))
	}
	return sh.run(ctx, stmts...)
}
