package state

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/expected"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// none stands for no span, no event, no row, no place in a list.
const none = history.None

// State is a session: all events so far, what was worked out from them, and the reader's place. One goroutine uses
// it.
type State struct {
	lang     words.Lang
	h        *history.History
	lives    *life.Lives
	outlines *outline.Outlines
	spreads  *spread.Spreads
	usual    *expected.Usual
	pods     []*pod
	version  uint64 // grows with every change of what is shown

	clock   int64 // wall clock of the last Tick
	link    screen.Link
	status  string // the state of the link in a word or two
	dropped map[string]uint64
	states  map[string]*agentpb.PodState // by uid, as the agent listed them last
	holds   []liveHold
	breaks  []*agentpb.Breakpoint
	breakAt time.Time

	gathered    gathered
	unscheduled map[string]*causes.Report // pods without a node, by uid
	reports     reportCache
	summaries   map[int]summary // of pods in trouble, by place

	reader // the reader's place
}

// pod is a pod, with the reader's choices in its story.
type pod struct {
	*outline.Pod
	opened map[lineKey]bool // rows that the reader opened or closed
	cache  layoutCache

	revealed int // the last item that was opened because the reader asked for something in it
}

// New makes a session with the agent that info describes.
func New(info *agentpb.InfoResponse, c *probes.Catalogue, lang words.Lang) *State {
	h := history.New(info, c)
	s := &State{lang: lang, h: h, lives: life.New(h), usual: expected.New(h), reader: newReader()}
	s.outlines = outline.New(h, s.lives)
	s.outlines.Learnt = s.usual.Learn
	s.spreads = spread.New(h, nil)
	return s
}

// SetLimit bounds how many bytes of events are kept.
func (s *State) SetLimit(bytes int) { s.h.SetLimit(bytes) }

// SetLang changes the language.
func (s *State) SetLang(l words.Lang) {
	s.lang = l
	s.version++
}

// SetInfo sets the agent that the next events come from. Another agent than before has its own numbers, but the pods
// stay the same. If it is the same agent, events that it sends again are not taken twice.
func (s *State) SetInfo(info *agentpb.InfoResponse) {
	s.version++
	if !s.h.SetInfo(info) {
		return
	}
	s.lives.Restart()
	s.states, s.holds, s.breaks = nil, nil, nil
	s.breakID = 0 // the number is the former agent's
	for _, p := range s.pods {
		p.cache = layoutCache{}
	}
}

// Decoder returns a decoder for events of the present agent. It knows the pods of all batches that were added.
func (s *State) Decoder() *wire.Decoder { return s.h.Epoch().Decoder }

// Add takes the next batch of events.
func (s *State) Add(b *agentpb.Batch) {
	first := s.h.First()
	s.h.Add(b, func(r *history.Record) {
		s.lives.Apply(r)
		s.outlines.Take(r)
		s.spreads.Apply(r)
	})
	s.version++
	if now := s.h.First(); now != first {
		s.forgetBefore(now)
	}
}

// forgetBefore drops what belongs to events before a position, which the history has forgotten.
func (s *State) forgetBefore(before int) {
	s.lives.Forget(before)
	s.outlines.Forget(before)
	s.events.forgetBefore(before)
	if s.frozen() {
		s.frozenAt = max(s.frozenAt, before)
	}
}

// podAt returns the pod at a place of the history.
func (s *State) podAt(i int) *pod {
	for len(s.pods) < s.h.Pods() {
		s.pods = append(s.pods, &pod{Pod: s.outlines.Pod(len(s.pods)), revealed: none})
	}
	return s.pods[i]
}

// Tick sets the time. A session has no clock of its own. While the agent is gone the time stands still, because
// nothing is known of what has happened since.
func (s *State) Tick(now time.Time) {
	if s.link != screen.LinkReconnecting {
		s.clock = now.UnixNano()
	}
}

// SetLink sets how the session is connected, in a word or two.
func (s *State) SetLink(l screen.Link, status string) { s.link, s.status = l, words.Clean(status) }

// SetDropped sets how many events the agent lost, by kind.
func (s *State) SetDropped(n map[string]uint64) { s.dropped = n }

// SetFilter selects events and pods by a filter. Its error is for the person.
func (s *State) SetFilter(text string) error {
	f, err := filter.Parse(text)
	if err != nil {
		return err
	}
	s.version++
	s.filter, s.filterText = nil, ""
	if !f.Empty() {
		s.filter, s.filterText = f, f.String()
	}
	s.events.reset()
	return nil
}

// Events returns how many events there have been.
func (s *State) Events() int { return s.h.End() }
