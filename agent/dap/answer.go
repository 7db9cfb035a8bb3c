package dap

import (
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
)

// requestError is the number of the errors of podstep's answers: editors show the text.
const requestError = 1

// The categories of output: for the console, and for what a person should not miss.
const (
	console   = "console"
	important = "important"
)

// textOf returns the sentence of an error, safe to show.
func textOf(err error) string { return lines(reason.Error(err).En) }

// lines makes a text of several lines safe to show.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, l := range all {
		all[i] = words.Clean(l)
	}
	return strings.Join(all, "\n")
}

// refuse answers a request with an error.
func (s *session) refuse(to *dap.Request, err error) {
	text := textOf(err)
	s.out.put(&dap.ErrorResponse{
		Response: respond(to, false, text),
		Body:     dap.ErrorResponseBody{Error: &dap.ErrorMessage{Id: requestError, Format: escapeBraces(text), ShowUser: true}},
	})
}

// escapeBraces keeps a text from being read as a format with variables, which stand in braces.
func escapeBraces(text string) string { return strings.NewReplacer("{", "(", "}", ")").Replace(text) }

// respond returns the head of an answer.
func respond(to *dap.Request, success bool, message string) dap.Response {
	return dap.Response{
		ProtocolMessage: dap.ProtocolMessage{Type: "response"}, RequestSeq: to.Seq, Success: success, Command: to.Command, Message: message,
	}
}

// done returns the head of the answer to a request that was done.
func done(to dap.RequestMessage) dap.Response { return respond(to.GetRequest(), true, "") }

// event returns the head of an event.
func event(name string) dap.Event {
	return dap.Event{ProtocolMessage: dap.ProtocolMessage{Type: "event"}, Event: name}
}

// output shows a line to the person at the editor.
func (s *session) output(category, format string, args ...any) {
	s.out.put(&dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: category, Output: lines(fmt.Sprintf(format, args...)) + "\n"}})
}
