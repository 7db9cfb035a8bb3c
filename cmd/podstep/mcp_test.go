package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// The recordings that the questions are asked of: of a woven kubelet, and of one that podstep was attached to.
const (
	wovenFile    = "../../tui/state/testdata/lab.podstep"
	attachedFile = "../../tui/state/testdata/attached.podstep"
)

// sealed is where no agent and no kubeconfig is.
func sealed(t testing.TB) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("PODSTEP_SOCKET", filepath.Join(t.TempDir(), "none"))
}

// assistant is a client of podstep mcp.
type assistant struct{ *sdk.ClientSession }

// newAssistant serves an assistant in this process, by the command's own code, over pipes.
func newAssistant(t testing.TB, a *app, f *mcpFlags) *assistant {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- a.serveMCP(t.Context(), f, fromClient, toClient)
		toClient.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		toServer.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	return &assistant{s}
}

// call asks a tool once.
func (a *assistant) call(t testing.TB, tool string, args map[string]any) *sdk.CallToolResult {
	t.Helper()
	r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	return r
}

// textOf returns the text of a result, which is the same JSON as its object.
func textOf(t testing.TB, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("a result has %d parts", len(r.Content))
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if len(text) > mcp.MaxPage {
		t.Errorf("a result has %d bytes: %.100s", len(text), text)
	}
	if r.IsError {
		return text
	}
	var object, same any
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil || json.Unmarshal(raw, &object) != nil || json.Unmarshal([]byte(text), &same) != nil {
		t.Fatalf("a result is no JSON: %v: %s", err, text)
	}
	if x, y := encodeAny(t, object), encodeAny(t, same); x != y {
		t.Errorf("the object is\n%s\nand the text\n%s", x, y)
	}
	return text
}

func encodeAny(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pages asks a tool, and goes on with the cursor until there is none.
func (a *assistant) pages(t testing.TB, tool string, args map[string]any) (all []string) {
	t.Helper()
	for {
		r := a.call(t, tool, args)
		text := textOf(t, r)
		all = append(all, text)
		var page struct{ Cursor string }
		if r.IsError || json.Unmarshal([]byte(text), &page) != nil || page.Cursor == "" {
			return all
		}
		args = map[string]any{"cursor": page.Cursor}
	}
}

// serveFake serves the agent of fake_test.go, and keeps the names of the requests that come.
func serveFake(t testing.TB) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "podstep") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "agent")
	agenttest.Serve(t, &oncallAgent{newFakeAgent()}, socket)
	return socket
}

// oncallAgent is the agent of fake_test.go with one more pod, whose story has a pull.
type oncallAgent struct{ *fakeAgent }

var slow = &agentpb.Pod{Id: 9, Namespace: "shop", Name: "slow", Uid: "u-slow"}

func (f *oncallAgent) Watch(r *agentpb.WatchRequest, s agentpb.Agent_WatchServer) error {
	if r.Pods.GetName() != slow.Name {
		return f.fakeAgent.Watch(r, s)
	}
	const second = int64(1e9)
	enter := func(seq uint64, step string, span, parent uint64) *agentpb.Event {
		return f.event(seq, agentpb.Kind_ENTER, step, slow, span, parent, 0)
	}
	exit := func(seq uint64, step string, span, parent uint64, took int64) *agentpb.Event {
		return f.event(seq, agentpb.Kind_EXIT, step, slow, span, parent, took)
	}
	create := enter(1, "sync.pod", 2, 0)
	create.Fields = []*agentpb.Field{eventtest.Field("updateType", "create")}
	pull := enter(3, "cri.PullImage", 4, 3)
	pull.Fields = []*agentpb.Field{eventtest.Field("image", "registry.example/shop:7")}
	batch := eventtest.Batch(create, enter(2, "image.pull", 3, 2), pull, exit(4, "cri.PullImage", 4, 3, 41*second), exit(5, "image.pull", 3, 2, 42*second), exit(6, "sync.pod", 2, 0, 43*second))
	batch.Pods = []*agentpb.Pod{slow}
	return s.Send(batch)
}

// TestPagesAreWhole: the pages of an answer have together what the command prints.
func TestPagesAreWhole(t *testing.T) {
	sealed(t)
	a := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{wovenFile}})
	seqs := func(text string) (out []uint64) {
		d := json.NewDecoder(strings.NewReader(text))
		for d.More() {
			var e struct{ Seq uint64 }
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Seq)
		}
		return out
	}
	var printed bytes.Buffer
	if code := run(context.Background(), []string{"podstep", "replay", wovenFile, "--filter", "pod~crashloop", "-o", "json"}, &printed, io.Discard); code != 0 {
		t.Fatalf("replay ends with %d", code)
	}
	var got []uint64
	pages := a.pages(t, "trace", map[string]any{"pods": "crashloop"})
	for _, p := range pages {
		var page struct{ Answer []struct{ Seq uint64 } }
		if err := json.Unmarshal([]byte(p), &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Answer {
			if len(got) == 0 || got[len(got)-1] != e.Seq { // an event may be on two pages
				got = append(got, e.Seq)
			}
		}
	}
	want := seqs(printed.String())
	if !slices.Equal(got, want) || len(pages) < 20 {
		t.Errorf("%d pages have %d events, and podstep replay prints %d", len(pages), len(got), len(want))
	}
}

// TestComparisonInPages: the pages of a comparison have together the times and steps that the command prints.
func TestComparisonInPages(t *testing.T) {
	sealed(t)
	a := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{wovenFile}})
	var printed bytes.Buffer
	if code := run(t.Context(), []string{"podstep", "compare", "web", "no-image", "--trace", wovenFile, "-o", "json"}, &printed, io.Discard); code != 0 {
		t.Fatalf("compare ends with %d", code)
	}
	type lists struct{ Times, Steps []json.RawMessage }
	var want lists
	if err := json.Unmarshal(printed.Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	var got lists
	for _, p := range a.pages(t, "compare", map[string]any{"a": "web", "b": "no-image"}) {
		var page struct{ Answer lists }
		if err := json.Unmarshal([]byte(p), &page); err != nil {
			t.Fatal(err)
		}
		got.Times, got.Steps = append(got.Times, page.Answer.Times...), append(got.Steps, page.Answer.Steps...)
	}
	if x, y := encodeAny(t, got), encodeAny(t, want); x != y {
		t.Errorf("the pages have %d times and %d steps, and podstep compare prints %d and %d", len(got.Times), len(got.Steps), len(want.Times), len(want.Steps))
	}
}

// TestSameJSON: an answer is what the command prints with -o json, letter by letter but for the spaces.
func TestSameJSON(t *testing.T) {
	sealed(t)
	socket := serveFake(t)
	live := newAssistant(t, &app{where: (&where{}).with(client.At(socket))}, &mcpFlags{})
	recorded := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{wovenFile}})
	for _, x := range []struct {
		from *assistant
		line string
		tool string
		args map[string]any
	}{
		{live, "pods --socket " + socket, "pods", nil},
		{live, "pods shop/* --socket " + socket, "pods", map[string]any{"pods": "shop/*"}},
		{live, "steps cri.PullImage --agent --socket " + socket, "steps", map[string]any{"step": "cri.PullImage", "seen": true}},
		{recorded, "steps sync.volumes", "steps", map[string]any{"step": "sync.volumes"}},
		{recorded, "why no-image --lang en --trace " + wovenFile, "why", map[string]any{"pod": "no-image"}},
	} {
		var printed, compact bytes.Buffer
		run(t.Context(), append(append([]string{"podstep"}, strings.Fields(x.line)...), "-o", "json"), &printed, io.Discard)
		if err := json.Compact(&compact, printed.Bytes()); err != nil {
			t.Errorf("podstep %s: %v: %s", x.line, err, printed.String())
			continue
		}
		pages := x.from.pages(t, x.tool, x.args)
		_, answer, _ := strings.Cut(strings.TrimSuffix(pages[0], "}"), `"answer":`)
		if len(pages) != 1 || answer != compact.String() {
			t.Errorf("podstep %s prints\n%s\nand the tool answers, on %d pages,\n%s", x.line, compact.String(), len(pages), answer)
		}
	}
}
