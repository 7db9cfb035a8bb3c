package dap

import "github.com/google/go-dap"

// stoppedEvent and continuedEvent are those of package go-dap, with their last members written even if they are false:
// nvim-dap takes a continued without one for a continued of all threads.
type stoppedEvent struct {
	dap.Event
	Body stoppedBody `json:"body"`
}

type stoppedBody struct {
	dap.StoppedEventBody
	AllThreadsStopped bool `json:"allThreadsStopped"`
}

type continuedEvent struct {
	dap.Event
	Body continuedBody `json:"body"`
}

type continuedBody struct {
	ThreadId            int  `json:"threadId"`
	AllThreadsContinued bool `json:"allThreadsContinued"`
}

// stopped reports to the editor that a pod is stopped; all others live on, except in a recording, where nothing lives.
func (s *session) stopped(body dap.StoppedEventBody) {
	s.out.put(&stoppedEvent{Event: event("stopped"), Body: stoppedBody{StoppedEventBody: body, AllThreadsStopped: body.AllThreadsStopped}})
}

// continued reports to the editor that a pod goes on.
func (s *session) continued(place int) {
	s.out.put(&continuedEvent{Event: event("continued"), Body: continuedBody{ThreadId: place}})
	if s.resumesSecond() {
		// Older versions of nvim-dap go on to take the pod for the stopped one, until they get an event of the thread.
		s.out.put(&dap.ThreadEvent{Event: event("thread"), Body: dap.ThreadEventBody{Reason: "started", ThreadId: place}})
	}
}
