package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/agent/version"
)

// within bounds the time of one answer.
const within = 30 * time.Second

// maxAnswer bounds an answer that is divided into pages, in bytes of JSON.
const maxAnswer = 1 << 20

// Options say what a server has beside its answers.
type Options struct {
	// Private are the texts that must not leave this machine.
	Private []Private
	// Recordings are the names by which the tools' arguments mean recordings. Without Live, the first is asked where
	// none is named.
	Recordings []string
	// Live says that the agent and the cluster can be asked.
	Live bool
	// Holds holds pods; nil: the server only reads. A server that holds has another name.
	Holds Holds
}

// server answers the tools.
type server struct {
	answers Answers
	scrub   *scrubber
	shelf   *shelf
}

// New returns a server. It has the tools, two prompts, and the pages of the causes as resources.
func New(answers Answers, o Options) *sdk.Server {
	s := &server{answers, newScrubber(o.Private), newShelf()}
	about := &sdk.Implementation{Name: "podstep", Title: "podstep: why pods are stuck", Version: version.Own()}
	if o.Holds != nil {
		about.Name, about.Title = "podstep-holds", "podstep: why pods are stuck, and holding them"
	}
	out := sdk.NewServer(about, &sdk.ServerOptions{
		Instructions: instructions(o),
		// The lists do not change while the server runs, and it sends no log.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	addTools(out, s)
	if o.Holds != nil {
		addHolds(out, s, o.Holds)
	}
	addPrompts(out)
	addCauses(out)
	return out
}

// Serve serves the protocol on a pair of streams, one message a line, until the reader ends or ctx does.
func Serve(ctx context.Context, s *sdk.Server, in io.ReadCloser, out io.WriteCloser) error {
	err := s.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxLine})
	var syntax *json.SyntaxError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read what the assistant sends: it is not a message of the protocol, which is one JSON object a line: %w", err)
	}
	return err
}

// maxLine bounds one message of a client, in bytes. Questions are small.
const maxLine = 1 << 20

// instructions say how the tools are used.
func instructions(o Options) string {
	out := `podstep sees what the kubelet of a node does for each pod, step by step, and says why a pod is stuck. Begin with why: of one pod, or without a pod for all that are not well. pods lists states; trace has the single events; compare finds why one pod is slower than another; steps explains the names of steps; doctor says what podstep can see here.

%s An answer has its evidence, and under "unseen" what could not be seen: do not conclude from what was not seen. An answer of more than one page has a cursor; give it to the same tool for the next page. A finding has an id; podstep://causes/ID has more about it.`
	reads := "Everything here only reads."
	if o.Holds != nil {
		reads = fmt.Sprintf("All tools but hold, step and continue only read. These stop a pod for at most %s; ask the person before you do that.", MaxLease)
	}
	out = fmt.Sprintf(out, reads)
	if len(o.Recordings) > 0 {
		out += "\n\nRecordings that can be asked, by the argument recording: " + strings.Join(o.Recordings, ", ") + "."
		if !o.Live {
			out += " Nothing else is asked: without that argument, " + o.Recordings[0] + " is."
		}
	}
	return out
}

// question is a question of a tool.
type question interface{ paged() *Paged }

// ask answers a call of a tool with one page.
func ask[Q any, P interface {
	*Q
	question
}](ctx context.Context, s *server, tool *sdk.Tool, q Q, sources bool, answer func(context.Context, Q) (*Answer, error)) (*sdk.CallToolResult, error) {
	p := P(&q)
	cursor := p.paged().Cursor
	p.paged().Cursor = ""
	key, err := json.Marshal(q)
	if err != nil {
		return nil, s.safe(err)
	}
	if cursor != "" {
		k, page, err := s.shelf.find(tool.Name, string(key), cursor)
		if err != nil {
			return nil, s.safe(err)
		}
		return s.page(k, page), nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	whole, err := answered(ctx, q, answer)
	if err != nil {
		return nil, s.safe(err)
	}
	pages, err := s.pages(whole, sources)
	if err != nil {
		return nil, s.safe(err)
	}
	return s.page(s.shelf.put(tool.Name, string(key), pages), 0), nil
}

// answered calls a function that answers. A panic ends only the answer.
func answered[Q any](ctx context.Context, q Q, answer func(context.Context, Q) (*Answer, error)) (a *Answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, errors.New("podstep could not answer, because of an error of its own; ask another tool, and report it with podstep version and the question")
		}
	}()
	return answer(ctx, q)
}

// pages returns an answer as pages without private texts.
func (s *server) pages(a *Answer, sources bool) ([][]byte, error) {
	raw, err := document(a)
	if err != nil {
		return nil, err
	}
	if raw, err = s.scrub.document(raw, sources); err != nil {
		return nil, fmt.Errorf("clean answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return nil, fmt.Errorf("the answer has %d kB, and at most %d are divided into pages: ask for less, such as one pod or one namespace", len(raw)>>10, maxAnswer>>10)
	}
	return divide(raw)
}

// page returns a page of an answer: as an object, and as text for clients that do not read objects.
func (s *server) page(k *kept, page int) *sdk.CallToolResult {
	text := []byte{'{'}
	if len(k.pages) > 1 {
		text = fmt.Appendf(text, `"page":%d,"pages":%d,`, page+1, len(k.pages))
		if page+1 < len(k.pages) {
			text = fmt.Appendf(text, `"cursor":%q,`, s.shelf.cursor(k, page+1))
		}
	}
	text = append(append(text, k.pages[page]...), '}')
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(text), Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// maxError bounds an error, in bytes.
const maxError = 1000

// safe returns an error without private texts.
func (s *server) safe(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer came within %s; ask for less, or see the tool doctor", within)
	}
	return errors.New(oneLine(s.scrub.sources(err.Error())))
}
