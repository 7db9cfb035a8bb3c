package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/agent/mcp"
)

// TestOverStdio starts the command as an assistant does, and asks it.
func TestOverStdio(t *testing.T) {
	sealed(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command("podstep", "mcp", "--file", wovenFile)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &assistant{s}
	if text := strings.Join(a.pages(t, "why", nil), "\n"); !strings.Contains(text, `"id":"image.unreachable"`) {
		t.Errorf("why answers %.500s", text)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "compare doctor pods steps trace why" {
		t.Errorf("the tools are %s", got)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the command ends with %v", err)
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// TestBadMessages: the command answers messages that make no sense with errors. It ends, with a reason, at what is no
// message at all.
func TestBadMessages(t *testing.T) {
	sealed(t)
	for _, x := range []struct {
		name  string
		lines []string
		want  []string // of the answers, one a line
		ends  string   // why the command ends; empty: it goes on
	}{
		{"a tool that is not there", []string{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold","arguments":{"pod":"web"}}}`}, []string{`unknown tool`}, ""},
		{"a method that is not there", []string{`{"jsonrpc":"2.0","id":2,"method":"tools/destroy"}`}, []string{`"error":`}, ""},
		{"parameters of another form", []string{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}`}, []string{`"error":`, `"error":`}, ""},
		{"arguments of another form", []string{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pods","arguments":[1]}}`}, []string{`rror`}, ""},
		{"an address with strange characters", []string{`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file://\u0000\u0007"}}`}, []string{"there is nothing at this address"}, ""},
		{"no JSON", []string{"garbage"}, nil, "it is not a message of the protocol"},
		{"no text", []string{"\x00\xff\x00"}, nil, "it is not a message of the protocol"},
		{"half a message", []string{`{"jsonrpc":`}, nil, "it is not a message of the protocol"},
		{"a message without end", []string{`{"a":"` + strings.Repeat("x", 2<<20) + `"}`}, nil, "serve the assistant"},
	} {
		t.Run(x.name, func(t *testing.T) {
			cmd := exec.Command("podstep", "mcp", "--file", wovenFile)
			var errors strings.Builder
			cmd.Stderr = &errors
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(out)
			ask := func(line, want string) {
				_, _ = io.WriteString(in, line+"\n") // the command may have ended already
				if want == "" {
					return
				}
				if got, err := answers.ReadString('\n'); err != nil || !strings.Contains(got, want) || !json.Valid([]byte(got)) {
					t.Errorf("%.200s is answered by %q, %v", line, got, err)
				}
			}
			ask(hello, `"serverInfo"`)
			ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
			for i, line := range x.lines {
				if i < len(x.want) {
					ask(line, x.want[i])
				} else {
					ask(line, "")
				}
			}
			if x.ends == "" {
				ask(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"pods","arguments":{"pods":"job-*"}}}`, `\"state\":\"done\"`)
			}
			in.Close()
			_, _ = io.Copy(io.Discard, answers)
			if err := cmd.Wait(); (err == nil) != (x.ends == "") || !strings.Contains(errors.String(), x.ends) {
				t.Errorf("the command ends with %v: %s", err, errors.String())
			}
		})
	}
}

// FuzzArguments asks each tool with any arguments. Each call is answered, by a page or by an error of one line.
func FuzzArguments(f *testing.F) {
	sealed(f)
	a := newAssistant(f, &app{where: &where{}}, &mcpFlags{files: []string{"../../agent/trace/testdata/v1.podstep"}})
	for _, args := range []string{
		`{}`, `{"pod":"web"}`, `{"pods":"*","filter":"err or slow>1s","last":3,"after":7}`, `{"a":"web","b":"web","part":"all"}`, `{"step":"cri.*","seen":true,"tier":1}`,
		`{"cursor":"AAAAAQABAAAAAAAA"}`, `{"pod":null}`, `{"steps":["stage:cri","["]}`, `{"last":1e99}`, `{"recording":"../x","namespace":"a/b"}`, `{"filter":"(((field.x=~[a"}`,
	} {
		for tool := range uint8(6) {
			f.Add(tool, args)
		}
	}
	f.Fuzz(func(t *testing.T, tool uint8, args string) {
		if !json.Valid([]byte(args)) {
			t.Skip()
		}
		name := []string{"why", "pods", "trace", "compare", "steps", "doctor"}[tool%6]
		r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			return // arguments that are no object
		}
		if text := textOf(t, r); r.IsError && (strings.Contains(text, "\n") || len(text) > mcp.MaxPage) {
			t.Errorf("%s %s: %q", name, args, text)
		}
	})
}
