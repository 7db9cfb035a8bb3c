package state

import (
	"strconv"
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// reader is the reader's place in a session.
type reader struct {
	main    screen.Main
	focus   screen.Pane
	zoom    bool
	split   int
	sizes   screen.Sizes
	pod     int // selected
	picked  bool
	loaded  bool
	podTop  int
	list    podOrder
	sort    screen.PodSort
	gone    gonePods
	columns []screen.PodColumn

	frozenAt int   // position, or none: at the end
	seekTime int64 // session time of that position, if it was asked for by time

	follow   bool
	cursor   lineKey
	cursorAt int // the cursor's last place
	storyTop int
	leftAt   int // how many events the pod had when the reader stopped following

	detailTop  int
	causeRow   int // in the list of causes
	breakRow   int
	breakID    uint32 // of the selected breakpoint; zero: none yet
	filter     *filter.Filter
	filterText string
	events     eventsView
	time       timeView
	top        topView
}

func newReader() reader {
	return reader{frozenAt: none, follow: true, events: newEventsView(), sort: screen.SortWorst, columns: screen.UsualColumns, top: topView{order: spread.Orders[0]}}
}

func (s *State) frozen() bool { return s.frozenAt != none }

// view returns the position that is shown now.
func (s *State) view() *view {
	v := view{at: s.h.End(), s: s}
	if s.frozen() {
		v.at = min(s.frozenAt, s.h.End())
	}
	v.w = s.lives.At(v.at)
	v.now = v.w.Time
	switch {
	case s.frozen():
		v.now = max(v.now, s.seekTime)
	case s.clock != 0 && s.h.Origin() != 0 && s.link != screen.LinkReplay:
		v.now = max(v.now, s.clock-s.h.Origin())
	}
	return &v
}

// String returns the row's ID.
func (k lineKey) String() string {
	b := append(make([]byte, 0, 24), k.kind)
	b = strconv.AppendInt(b, int64(k.a), 10)
	b = append(b, '.')
	return string(strconv.AppendInt(b, int64(k.b), 10))
}

// parseKey reads a row's ID.
func parseKey(id string) (k lineKey, ok bool) {
	if id == "" {
		return k, false
	}
	k.kind = id[0]
	a, b, ok := strings.Cut(id[1:], ".")
	if !ok {
		return k, false
	}
	var err, err2 error
	k.a, err = strconv.Atoi(a)
	k.b, err2 = strconv.Atoi(b)
	return k, err == nil && err2 == nil
}

// Screen works out one frame. Its cost depends on the rows that fit, not on how many events there are.
func (s *State) Screen(z screen.Sizes) *screen.Screen {
	s.sizes = z
	v := s.view()
	s.pick(v)
	out := &screen.Screen{
		Lang: s.lang, Main: s.main, Focus: s.focus, Zoom: s.zoom, Split: s.split,
		Pods: s.podList(z.Pods, v), Why: s.lastKnown(s.whyLine(v)), Hold: s.banner(v),
	}
	out.Header = s.headerOf(v)
	out.Body = s.mainPane().body(s, z.Main, v)
	sel := s.shownLine(v)
	// The causes take the room of the step's detail, which nobody asks for there.
	if s.main == screen.MainWhy {
		out.Crumbs = s.crumbs(nil, v)
		return out
	}
	if out.Detail = s.detail(sel, v); out.Detail != nil {
		s.detailTop = max(0, min(s.detailTop, out.Detail.Lines()-1))
		out.Detail.Top = s.detailTop
	}
	out.Crumbs = s.crumbs(sel, v)
	return out
}

// Loaded is called when all parts have come of what the first agent remembers. If the person has selected no pod,
// the worst of all is selected then.
func (s *State) Loaded() {
	if !s.picked && !s.loaded && s.link != screen.LinkReplay {
		s.pod = 0
		s.pick(s.view())
	}
	s.loaded = true
}

// pick selects the worst pod if none has been selected yet. From then on only the person selects another.
func (s *State) pick(v *view) {
	if s.picked || s.pod != 0 {
		return
	}
	for _, pp := range s.order(v).rows {
		if pp.pod != 0 {
			s.selectPod(pp.pod)
			s.picked = false
			return
		}
	}
}

func (s *State) headerOf(v *view) screen.Header {
	o := s.order(v)
	e := s.h.EpochBefore(v.at)
	info := e.Info
	h := screen.Header{
		Link: s.link, LinkText: s.status, Frozen: s.frozen() && s.link != screen.LinkReplay, Node: words.Clean(info.GetNode()),
		Kubelet: words.Clean(info.GetKubeletVersion()), Probes: cleaned(wire.Working(e.Probes(v.at))), Failing: s.failing(e.Probes(v.at)), Lab: info.GetLab(), Blind: s.blind(v),
		Stuck: o.counts[life.Stuck], Retrying: o.counts[life.Retrying], Held: o.counts[life.Held], Filter: words.Clean(s.filterText),
	}
	for _, n := range o.counts {
		h.Pods += n
	}
	h.Pods -= o.counts[life.Gone]
	for _, n := range s.dropped {
		h.Dropped += n
	}
	if s.link == screen.LinkReplay {
		h.At, h.Of = s.Position()
	}
	return h
}

func (s *State) crumbs(sel *line, v *view) []string {
	out := []string{words.Clean(s.h.Epoch().Info.GetNode())}
	p := s.podAt(s.pod)
	if s.pod != 0 {
		out = append(out, p.Entity.NamespacedName())
	}
	if sel == nil {
		return out
	}
	if it := p.Items.At(sel.item); it != nil && it.Turn != none {
		if t := p.Turns.At(it.Turn); t != nil {
			out = append(out, s.turnLabel(p, t, v))
		}
	}
	if sel.key.kind == keySpan || sel.key.kind == keyExpected {
		out = append(out, s.title(s.h.Step(s.stepOf(sel))))
	}
	return out
}

// stepOf returns the step that a line is about, or 0.
func (s *State) stepOf(n *line) history.StepID {
	if sp := s.h.Span(n.span); sp != nil {
		return sp.Step
	}
	return n.step
}
