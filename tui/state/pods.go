package state

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// Words in the place of a state's own.
var (
	endingWord  = words.Text("terminating", "终止中")
	nodeWord    = words.Text("node", "节点")
	refusedWord = words.Text("refused", "被拒")
	failedWord  = words.Text("failed", "失败")
)

// podOrder is the list of pods in its present order. Pods are named by their places in State.pods.
type podOrder struct {
	version uint64
	at      int
	second  int64
	pod     int // the selected one
	gone    gonePods
	// all are all pods, and rows those that the list shows.
	all, rows []podPlace
	counts    [life.Gone + 1]int
	// of is how many pods are not gone, and match how many of them the filter selects.
	of, match int
	// namespace is how wide the longest namespace of rows is; 0: they are all of one.
	namespace int
}

type podPlace struct {
	pod   int
	mark  life.State
	since int64
	aside aside
	// first and restarts are keys by which the list may be sorted.
	first    int64
	restarts int
}

// aside says why the list has a pod only because it is the selected one. The selected pod is always in the list,
// because the selection never goes to another by itself.
type aside uint8

const (
	inList   aside = iota
	filtered       // the filter does not select it
	notYet         // it came later than what is shown
	former         // only a former agent sent it
)

var asideWords = [...]probes.Text{
	filtered: words.Text("outside the filter", "不符合过滤条件"),
	notYet:   words.Text("not there yet", "此时还没有出现"),
	former:   words.Text("not known to this agent", "现在的代理不知道它"),
}

// asideOf returns why the list leaves out a pod, or the zero aside if the list has it.
func (s *State) asideOf(i int, p *life.Pod, v *view) aside {
	listed := v.at == s.h.End() && s.states[s.podAt(i).Entity.UID] != nil
	switch {
	case i == 0:
		return inList
	case p.Former != 0:
		return former
	case p.First == 0 && !listed && s.withoutNode(i, p, v) == nil:
		return notYet
	case s.filter != nil && !s.selects(i, p):
		return filtered
	}
	return inList
}

// order sorts the pods. Pods in trouble are sorted by how long they have been so, and all others by name, because
// nobody can read a list that jumps. Held pods are sorted by name, too: each step begins a new hold, and would put
// the pod behind all others that are held.
func (s *State) order(v *view) *podOrder {
	o := &s.list
	second := v.now / int64(250*time.Millisecond)
	if o.version == s.version && o.at == v.at && o.second == second && o.pod == s.pod && o.gone == s.gone && o.rows != nil {
		return o
	}
	o.version, o.at, o.second, o.pod, o.gone, o.all, o.counts = s.version, v.at, second, s.pod, s.gone, o.all[:0], [life.Gone + 1]int{}
	o.of, o.match = 0, 0
	for i := range s.h.Pods() {
		p := v.pod(i)
		why := s.asideOf(i, p, v)
		if i != s.pod && (why == notYet || why == former) {
			continue
		}
		m, from := s.verdictOf(i, v)
		if i > 0 && (why == inList || why == filtered) {
			o.counts[m]++
			if m != life.Gone {
				o.of++
			}
			if m != life.Gone && why == inList {
				o.match++
			}
		}
		if why == inList || i == s.pod {
			o.all = append(o.all, podPlace{pod: i, mark: m, since: from, aside: why, first: p.First, restarts: restarts(p)})
		}
	}
	slices.SortFunc(o.all, s.comparePods)
	o.rows = s.gone.shownOf(o.all, s.pod, o.rows[:0])
	o.namespace = s.namespaceWidth(o.rows)
	return o
}

// namespaceWidth returns how wide the longest namespace of some pods is, or 0 if they are all of one. The node is of none.
func (s *State) namespaceWidth(rows []podPlace) (longest int) {
	only, several := "", false
	for i := range rows {
		n := s.podAt(rows[i].pod).Entity.Namespace
		if n == "" {
			continue
		}
		several = several || only != "" && only != n
		only, longest = n, max(longest, len(n)) // the API server allows only ASCII in it
	}
	if !several {
		return 0
	}
	return longest
}

// gonePods says which of the pods that are gone the list shows.
type gonePods uint8

const (
	lastGone gonePods = iota // those that went last
	noneGone
	allGone
	goneChoices
)

// goneShown is how many of the pods that are gone the list shows.
const goneShown = 20

// shownOf adds to rows the pods of all that the list shows. The selected pod is always among them.
func (g gonePods) shownOf(all []podPlace, selected int, rows []podPlace) []podPlace {
	oldest, shown := int64(math.MinInt64), goneShown
	if g == noneGone {
		shown = 0
	}
	var went []int64
	for i := range all {
		if all[i].mark == life.Gone {
			went = append(went, all[i].since)
		}
	}
	if g != allGone && len(went) > shown {
		slices.Sort(went)
		oldest = went[len(went)-1] + 1
		if shown > 0 {
			oldest = went[len(went)-shown]
		}
	}
	for i := range all {
		if p := &all[i]; p.mark != life.Gone || p.since >= oldest || p.pod == selected {
			rows = append(rows, *p)
		}
	}
	return rows
}

// NextGone goes on to the next choice of the pods that are gone, and says which that is.
func (s *State) NextGone() probes.Text {
	s.gone = (s.gone + 1) % goneChoices
	s.version++
	return [...]probes.Text{
		lastGone: words.Text("the list shows the pods that went last", "列表显示最近消失的 Pod"),
		noneGone: words.Text("the list does not show pods that are gone", "列表不显示已消失的 Pod"),
		allGone:  words.Text("the list shows all pods that are gone", "列表显示所有已消失的 Pod"),
	}[s.gone]
}

func (s *State) comparePods(a, b podPlace) int {
	if (a.pod == 0) != (b.pod == 0) {
		return cmp.Compare(b.pod, a.pod) // the node comes last
	}
	if s.sort != screen.SortWorst {
		return s.compareAs(s.sort, a, b)
	}
	if a.mark != b.mark {
		return cmp.Compare(a.mark, b.mark)
	}
	if (a.mark == life.Stuck || a.mark == life.Retrying) && a.since != b.since {
		return cmp.Compare(a.since, b.since)
	}
	return s.compareNames(a.pod, b.pod)
}

func (s *State) compareNames(a, b int) int {
	x, y := &s.podAt(a).Entity, &s.podAt(b).Entity
	return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name), cmp.Compare(a, b))
}

// compareAs compares pods in an order that a person has chosen. In each order, pods that are gone come last.
func (s *State) compareAs(by screen.PodSort, a, b podPlace) int {
	if gone := a.mark == life.Gone; gone != (b.mark == life.Gone) {
		if gone {
			return 1
		}
		return -1
	}
	first := 0
	switch by {
	case screen.SortNewest:
		first = cmp.Compare(b.first, a.first)
	case screen.SortRestarts:
		first = cmp.Compare(b.restarts, a.restarts)
	}
	return cmp.Or(first, s.compareNames(a.pod, b.pod))
}

// SetSort sets the order of the list of pods.
func (s *State) SetSort(by screen.PodSort) {
	s.sort = by
	s.version++
}

// SetColumns sets the columns of the list of pods.
func (s *State) SetColumns(c []screen.PodColumn) { s.columns = c }

// restarts returns how often a pod's containers were started again, as far as that was reported; -1 if it was not.
func restarts(p *life.Pod) int {
	n := -1
	for _, c := range p.Containers {
		if c.Restarts != none {
			n = max(n, 0) + int(c.Restarts)
		}
	}
	return n
}

// SelectedRestarts returns how often the containers of the selected pod were started again, as far as that was reported;
// -1 if it was not.
func (s *State) SelectedRestarts() int { return restarts(s.view().pod(s.pod)) }

// selects reports whether the filter selects a pod: by its name, or by the error of its last turn.
func (s *State) selects(i int, p *life.Pod) bool {
	e, _ := s.h.Event(p.Failed)
	return s.filter.MatchPod(&s.podAt(i).Entity, e.Error)
}

// placeOf returns a pod outside of the list, as podRow takes it.
func (s *State) placeOf(i int, v *view) podPlace {
	mark, since := s.verdictOf(i, v)
	return podPlace{pod: i, mark: mark, since: since}
}

// podRow puts a pod into words, without its second line.
func (s *State) podRow(pp podPlace, v *view) screen.PodRow {
	p, now := s.podAt(pp.pod), v.pod(pp.pod)
	r := screen.PodRow{
		Key: screen.PodKey(pp.pod), Namespace: p.Entity.Namespace, Name: p.Entity.Name, UID: p.Entity.UID,
		Mark: pp.mark, Word: s.lang.In(pp.mark.Text()), For: history.Since(pp.since, v.now),
		Restarts: restarts(now),
	}
	if now.First != 0 {
		r.Seen = history.Since(now.First, v.now)
	}
	switch {
	case pp.pod == 0:
		r.Word, r.For = s.lang.In(nodeWord), 0
		return r
	case s.withoutNode(pp.pod, now, v) != nil:
		r.Word = s.lang.In(noNodeWord)
	case now.Refused && pp.mark == life.Done:
		r.Word, r.Bad = s.lang.In(refusedWord), true
	case now.Phase == life.Failed && pp.mark == life.Done:
		r.Word, r.Bad = s.lang.In(failedWord), true
	case now.Deleting && (pp.mark == life.Working || s.lives.Lingers(now)) && pp.mark >= life.Working:
		r.Word = s.lang.In(endingWord)
	}
	if pp.mark == life.Working && now.At != none {
		r.Where = tail(s.h.Step(now.Step).Name)
	}
	if pp.mark == life.Held {
		r.Left, _ = s.holdEnds(pp.pod, now, v)
		r.Where = tail(s.heldStep(now))
	}
	return r
}

// podRowAndLine is podRow with the second line, which takes longer.
func (s *State) podRowAndLine(pp podPlace, v *view) screen.PodRow {
	r := s.podRow(pp, v)
	if u := s.withoutNode(pp.pod, v.pod(pp.pod), v); u != nil && len(u.Findings) > 0 {
		r.Line = cmp.Or(s.gatheredTitle(pp.pod, v), u.Findings[0].Title(s.lang))
		return r
	}
	switch r.Line = s.trouble(pp.pod, pp.mark, v); {
	case pp.aside != inList:
		r.Line = s.lang.In(asideWords[pp.aside])
	case r.Line == "" && r.Bad:
		r.Line = s.causeTitle(pp.pod, v)
	}
	return r
}

// tail returns a step's name without its stage.
func tail(step string) string { return step[strings.IndexByte(step, '.')+1:] }

// podList returns the rows that fit.
func (s *State) podList(rows int, v *view) screen.PodList {
	o := s.order(v)
	at := slices.IndexFunc(o.rows, func(p podPlace) bool { return p.pod == s.pod })
	l := screen.PodList{Total: len(o.rows), Cursor: none, Sort: s.sort, Columns: s.columns, Hidden: len(o.all) - len(o.rows), Namespace: o.namespace}
	if s.filter != nil {
		l.Match, l.Of = o.match, o.of
	}
	s.podTop = window(s.podTop, at, rows, len(o.rows), 1)
	l.Top = s.podTop
	for i := l.Top; i < min(l.Top+rows, len(o.rows)); i++ {
		l.Rows = append(l.Rows, s.podRowAndLine(o.rows[i], v))
		if i == at {
			l.Cursor = i - l.Top
		}
	}
	if !slices.ContainsFunc(o.rows, func(p podPlace) bool { return p.pod != 0 && p.aside == inList }) {
		l.Empty = s.lang.In(words.Text("No pod yet. A pod appears as soon as the kubelet does something for it.",
			"还没有 Pod。kubelet 一开始处理某个 Pod，它就会出现在这里。"))
		if s.filter != nil {
			l.Empty = s.lang.In(words.Text("No pod matches the filter.", "没有 Pod 符合过滤条件。"))
		}
	}
	return l
}

// usualMargin is how many rows are kept visible around the selected one.
const usualMargin = 3

// window returns the first row to show, moved so that the selected one is seen with some rows around it.
func window(top, cursor, rows, total, margin int) int {
	if rows <= 0 {
		return 0
	}
	if cursor >= 0 {
		margin = min(margin, (rows-1)/2)
		top = min(top, cursor-margin)
		top = max(top, cursor-rows+1+margin)
	}
	return max(0, min(top, total-rows))
}

// PodsNamed returns all pods in the order of their states, the worst first, without their second lines.
func (s *State) PodsNamed() []screen.PodRow { return s.allPods(s.podRow) }

// PodsInFull is PodsNamed with the second lines.
func (s *State) PodsInFull() []screen.PodRow { return s.allPods(s.podRowAndLine) }

func (s *State) allPods(row func(podPlace, *view) screen.PodRow) (out []screen.PodRow) {
	v := s.view()
	for _, pp := range s.order(v).all {
		out = append(out, row(pp, v))
	}
	return out
}

// Pods returns how many pods there are, without the node.
func (s *State) Pods() (n int) {
	for _, pp := range s.order(s.view()).all {
		if pp.pod != 0 {
			n++
		}
	}
	return n
}
