package labtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// assistant asks podstep mcp about each pod by each of its tools, as an assistant does, and reads all pages. It asks the
// agent and the trace.
func (c *Canaries) assistant(tb testing.TB, l *Lab, trace string) {
	tb.Helper()
	a := newAssistant(tb, l, "mcp", "--socket", l.State.Agent, "--file", trace)
	recording := trace[strings.LastIndexByte(trace, '/')+1:]
	asked := 0
	for _, tool := range a.tools() {
		for i, p := range c.Pods {
			args := map[string]any{}
			for name := range tool.InputSchema.Properties {
				switch name {
				case "pod", "pods", "a":
					args[name] = p.Name
				case "b":
					args[name] = c.Pods[(i+1)%len(c.Pods)].Name
				}
			}
			_, recorded := tool.InputSchema.Properties["recording"]
			for _, from := range []string{"", recording}[:1+btoi(recorded)] {
				if from != "" {
					args["recording"] = from
				}
				text := a.pages(tool.Name, args)
				asked++
				c.report(tb, fmt.Sprintf("podstep mcp, %s %v", tool.Name, args), c.FindString(text))
			}
		}
	}
	if asked == 0 {
		tb.Error("podstep mcp has no tools")
	}
	a.close()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// talk is a conversation with podstep mcp. It is JSON-RPC, a message a line.
type talk struct {
	tb    testing.TB
	in    io.WriteCloser
	out   *bufio.Reader
	wait  func() error
	asked int
}

func newAssistant(tb testing.TB, l *Lab, args ...string) *talk {
	tb.Helper()
	cmd := l.PodstepCmd(args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	a := &talk{tb: tb, in: in, out: bufio.NewReader(out), wait: cmd.Wait}
	a.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "labtest", "version": "1"}})
	a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return a
}

func (a *talk) send(message any) {
	a.tb.Helper()
	raw, err := json.Marshal(message)
	if err != nil {
		a.tb.Fatal(err)
	}
	if _, err := a.in.Write(append(raw, '\n')); err != nil {
		a.tb.Fatalf("podstep mcp has ended: %v", err)
	}
}

// ask sends a request and returns its answer, as it came.
func (a *talk) ask(method string, params any) []byte {
	a.tb.Helper()
	a.asked++
	a.send(map[string]any{"jsonrpc": "2.0", "id": a.asked, "method": method, "params": params})
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			a.tb.Fatalf("podstep mcp does not answer %s: %v", method, err)
		}
		var head struct{ ID int }
		if err := json.Unmarshal(line, &head); err != nil {
			a.tb.Fatalf("podstep mcp answers %s with %s", method, line)
		}
		if head.ID == a.asked {
			return line
		}
	}
}

// toolOf is what podstep mcp says of a tool.
type toolOf struct {
	Name        string
	InputSchema struct{ Properties map[string]any }
}

func (a *talk) tools() []toolOf {
	a.tb.Helper()
	var answer struct{ Result struct{ Tools []toolOf } }
	if err := json.Unmarshal(a.ask("tools/list", map[string]any{}), &answer); err != nil {
		a.tb.Fatal(err)
	}
	return answer.Result.Tools
}

// maxPages bounds the pages that are read of one answer.
const maxPages = 50

// pages asks a tool, and goes on while there are more pages. It returns all that came.
func (a *talk) pages(tool string, args map[string]any) string {
	a.tb.Helper()
	var all strings.Builder
	for range maxPages {
		line := a.ask("tools/call", map[string]any{"name": tool, "arguments": args})
		all.Write(line)
		var answer struct {
			Result struct{ StructuredContent struct{ Cursor string } }
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			a.tb.Fatalf("podstep mcp answers %s", line)
		}
		cursor := answer.Result.StructuredContent.Cursor
		if cursor == "" {
			break
		}
		args = map[string]any{"cursor": cursor}
	}
	return all.String()
}

func (a *talk) close() {
	a.tb.Helper()
	a.in.Close()
	if err := a.wait(); err != nil {
		a.tb.Errorf("podstep mcp ends with %v", err)
	}
}
