package state

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/find"
	"github.com/podstep/podstep/tui/screen"
)

// Rows returns the rows of the pane that has the keys, for finding a text in them, and the name of that list. It
// returns nil if the pane has no rows, or draws them itself.
func (s *State) Rows() (name any, rows find.List) {
	v := s.view()
	switch {
	case s.focus == screen.PanePods || s.focus == screen.PaneMain && s.main == screen.MainTimeline && s.time.many:
		return screen.PanePods, podRows{s, v}
	case s.focus == screen.PaneDetail:
		return nil, nil
	case s.main == screen.MainStory, s.main == screen.MainTimeline:
		return s.pod, storyRows{s, v, s.layout(s.podAt(s.pod), v.at)}
	case s.main == screen.MainEvents:
		return eventsOf{s.filterText, s.events.ofPod(s), s.pod}, eventRows{s, v}
	case s.main == screen.MainTop:
		return s.topListed(), topFound{s, s.topRows(v)}
	case s.main == screen.MainWhy && s.pod != 0:
		return screen.MainWhy, causeRows{s, s.causes(v)}
	}
	return nil, nil
}

// ScrollDetail scrolls the detail to a line.
func (s *State) ScrollDetail(line int) { s.detailTop = max(0, line) }

// podRows are the pods in the order of the list.
type podRows struct {
	s *State
	v *view
}

func (r podRows) Rows() (int, int) { return 0, len(r.s.order(r.v).rows) }
func (r podRows) Version() uint64  { return r.s.version<<20 ^ uint64(r.s.order(r.v).second) }
func (r podRows) Go(i int)         { r.s.selectPod(r.s.order(r.v).rows[i].pod) }

func (r podRows) Text(i int) string {
	p := r.s.podRowAndLine(r.s.order(r.v).rows[i], r.v)
	return strings.Join([]string{p.Namespace + "/" + p.Name, p.Where, p.Word, p.Line}, " ")
}

func (r podRows) At() int {
	return slices.IndexFunc(r.s.order(r.v).rows, func(p podPlace) bool { return p.pod == r.s.pod })
}

// storyRows are the visible rows of the selected pod's story.
type storyRows struct {
	s  *State
	v  *view
	ls *lines
}

func (r storyRows) Rows() (int, int) { return 0, r.ls.len() }
func (r storyRows) Version() uint64  { return r.s.version<<20 ^ uint64(r.v.at) }
func (r storyRows) At() int          { return r.s.cursorPlace(r.ls, r.v) }
func (r storyRows) Go(i int)         { r.s.selectLine(r.ls, i) }

func (r storyRows) Text(i int) string {
	row := r.s.row(r.s.podAt(r.s.pod), r.ls.line(i), r.v)
	return strings.Join([]string{row.Label, row.Step, row.Note, row.Error}, " ")
}

// eventsOf identifies a list of events.
type eventsOf struct {
	filter string
	ofPod  bool
	pod    int
}

// eventRows are the events, by position. Events that are not listed are no rows.
type eventRows struct {
	s *State
	v *view
}

func (r eventRows) Rows() (int, int) { return r.s.h.First(), r.v.at }
func (r eventRows) Version() uint64  { return 0 }

func (r eventRows) Text(pos int) string {
	decodes := 1
	if !r.s.events.showsAll(r.s) && !r.s.matches(pos, &decodes) {
		return ""
	}
	row := r.s.eventRow(pos)
	pod := ""
	if row.Event.Pod != nil {
		pod = row.Event.Pod.NamespacedName()
	}
	return strings.Join([]string{pod, row.Event.Step, string(row.Event.Kind), row.Text}, " ")
}

func (r eventRows) At() int {
	if pos := r.s.events.selected(r.s, r.v); pos != none {
		return pos
	}
	return r.v.at
}

func (r eventRows) Go(pos int) { r.s.SelectEvent(pos) }

// SeqAt returns the number that the present agent gave the event at a position. ok is false if the event is not of
// that agent, or is forgotten.
func (s *State) SeqAt(pos int) (seq uint64, ok bool) {
	head, ok := s.h.Header(pos)
	return head.Seq, ok && head.Seq != 0 && s.h.EpochAt(pos) == s.h.Epoch()
}

// PositionsOf finds the events of the present agent that have these numbers.
func (s *State) PositionsOf(seqs []uint64) map[uint64]int {
	wanted := map[uint64]bool{}
	for _, seq := range seqs {
		wanted[seq] = true
	}
	out := map[uint64]int{}
	for pos := max(s.h.First(), s.h.Epoch().Start); pos < s.h.End() && len(out) < len(wanted); pos++ {
		if head, ok := s.h.Header(pos); ok && wanted[head.Seq] {
			out[head.Seq] = pos
		}
	}
	return out
}

// Shows reports whether the events that are shown include the one at a position.
func (s *State) Shows(pos int) bool { return pos < s.view().at }

// SelectEvent selects an event in their list by its position. If only one pod's events are listed, it selects the
// event's pod as well.
func (s *State) SelectEvent(pos int) {
	if h, ok := s.h.Header(pos); ok && s.events.ofPod(s) {
		s.selectPod(s.h.EpochAt(pos).PodOf(h.Pod))
	}
	s.events.stopFollowing(s)
	s.events.cursor = pos
}

// causeRows are the items that say why the pod is where it is.
type causeRows struct {
	s     *State
	items []cause
}

func (r causeRows) Rows() (int, int) { return 0, len(r.items) }
func (r causeRows) Version() uint64  { return r.s.version<<20 ^ uint64(len(r.items)) }
func (r causeRows) At() int          { return r.s.causeRow }
func (r causeRows) Go(i int)         { r.s.causeRow = i }

func (r causeRows) Text(i int) string {
	return words.OneLine(r.items[i].Label + " " + r.items[i].Text + " " + r.items[i].Aside)
}
