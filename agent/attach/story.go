package attach

import (
	"errors"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/cri/takeover"
)

const (
	// stepGone is told when the API server has a pod no more.
	stepGone = "cluster.gone"
	// stepKnown is told when the kubelet has a pod, and when it has it no more.
	stepKnown = "cluster.kubelet"
)

// over tells the last that a source has to say of a pod. Which source is the
// last to have it nobody knows.
func over(said *cluster.Said) bool {
	return said.Step == stepGone || said.Step == stepKnown && len(said.Values) > 0 && said.Values[0] == false
}

// told puts what the cluster said into the pod's story. What had happened before
// podstep came is told as it comes to know of it: a story goes forward, and its
// fields say since when it is so.
func (s *Session) told(said cluster.Said) {
	at := said.At
	if at.Before(s.began) {
		at = time.Now()
	}
	s.agent.Object(said.Pod)
	if over(&said) {
		s.pods.forget(string(said.UID()))
	} else {
		s.pods.spec(string(said.UID()), said.Pod)
	}
	var err error
	if said.Err != "" {
		err = errors.New(said.Err)
	}
	s.agent.Begin(agent.Seen{Step: said.Step, At: at, Values: append([]any{said.Pod}, said.Values...)}).End(at, err, []any{false})
}

// source says that a source cannot be asked, or can again.
func (s *Session) source(text string, err error) {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	s.note(text)
}

// socketNote says what happened to the runtime's socket.
func (s *Session) socketNote(n takeover.Note) {
	text := n.Text
	if n.Err != nil {
		text = fmt.Sprintf("%s: %v", text, n.Err)
	}
	s.note(text)
}

// note tells the person at the terminal, and puts it into the node's story.
func (s *Session) note(text string) {
	s.agent.Note(text)
	s.say("%s", text)
}

func (s *Session) say(format string, args ...any) {
	s.saying.Lock()
	defer s.saying.Unlock()
	if s.o.Say != nil {
		s.o.Say(redact.Text(fmt.Sprintf(format, args...)))
	}
}
