package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
)

// stuckAfter is how long one step may take before a pod counts as stuck, and
// stuckRetrying how long it may fail again and again.
const (
	stuckAfter    = time.Minute
	stuckRetrying = 2 * time.Minute
)

// quickTurn is how long a look at a pod that runs may take before it is told.
const quickTurn = time.Second

// markPod says what state a pod is in, and since when.
func (s *State) markPod(i int, p *podNow, v *view) (PodMark, int64) {
	inStep := since(p.since, v.now)
	switch {
	case i == 0:
		return PodRunning, p.first
	case p.told != nil:
		return PodHeld, p.told.GetSince().AsTime().UnixNano() - s.origin
	case p.holds > 0:
		return PodHeld, s.timeAt(p.heldAt)
	case s.isFormer(i, p, v):
		return PodGone, p.former
	case s.epoch.beside:
		return s.markBeside(i, p, v)
	case p.removed && !p.worker:
		return PodGone, p.last
	case s.lingers(p):
		return PodWaiting, max(p.goneAt, p.since)
	case p.finished, p.refused && !p.worker:
		return PodDone, max(p.goneAt, p.since)
	case p.turning && inStep > stuckAfter:
		return PodStuck, p.since
	case p.tries > 0 && since(p.trouble, v.now) > stuckRetrying:
		return PodStuck, p.trouble
	case p.tries > 0:
		return PodRetrying, p.trouble
	case p.deleting:
		return PodWorking, p.deletedAt
	case p.phase == phaseSucceeded || p.phase == phaseFailed:
		return PodDone, p.since
	case p.turning && !(p.phase == phaseRunning && inStep < quickTurn):
		return PodWorking, p.since
	case !p.worker && p.at != none && inStep > stuckAfter:
		return PodStuck, p.since
	case !p.worker && p.at != none:
		return PodWorking, p.since
	case p.phase == phaseRunning && s.isReady(i, p, v):
		return PodRunning, max(p.readyAt, p.first)
	}
	return PodWaiting, p.since
}

// isFormer tells whether only a former agent has told of a pod: none of the events
// of the agent that is there now is about it, and at the end the agent does not
// list it either.
func (s *State) isFormer(i int, p *podNow, v *view) bool {
	if p.former == 0 {
		return false
	}
	return v.at < s.arena.end || s.states[s.pods[i].entity.UID] == nil
}

// isReady goes by the events; at the end also by what the agent tells of a pod
// whose story began before them.
func (s *State) isReady(i int, p *podNow, v *view) bool {
	if p.ready || v.at < s.arena.end {
		return p.ready
	}
	st := s.states[s.pods[i].entity.UID]
	return st.GetReady()
}

var markWords = [...]probes.Text{
	PodHeld: text("held", "停住"), PodStuck: text("stuck", "卡住"), PodRetrying: text("retry", "重试"),
	PodWorking: text("working", "处理中"), PodWaiting: text("waiting", "等待"), PodRunning: text("running", "运行"),
	PodDone: text("done", "结束"), PodGone: text("gone", "已消失"),
}

var endingWord, nodeWord, refusedWord = text("ending", "终止中"), text("node", "节点"), text("refused", "被拒")

// podOrder is the list of pods as it stands: places in pods, worst first.
type podOrder struct {
	version uint64
	at      int
	second  int64
	pod     int // the selected one
	rows    []podPlace
	counts  [PodGone + 1]int
}

type podPlace struct {
	pod   int
	mark  PodMark
	since int64
	aside aside
}

// aside is why a pod would not be in the list if it were not the selected one.
// The selected pod always is: the selection never goes to another by itself.
type aside uint8

const (
	inList   aside = iota
	filtered       // the filter does not select it
	notYet         // it came later than what is shown
	former         // an agent before told of it, the one that is there now does not
)

var asideWords = [...]probes.Text{
	filtered: text("outside the filter", "不符合过滤条件"),
	notYet:   text("not there yet", "此时还没有出现"),
	former:   text("not known to this agent", "现在的代理不知道它"),
}

// asideOf tells whether a pod is in the list, or why not.
func (s *State) asideOf(i int, p *podNow, v *view) aside {
	listed := v.at == s.arena.end && s.states[s.pods[i].entity.UID] != nil
	switch {
	case i == 0:
		return inList
	case s.isFormer(i, p, v):
		return former
	case p.first == 0 && !listed:
		return notYet
	case s.filter != nil && !s.selects(i, p):
		return filtered
	}
	return inList
}

// order sorts the pods. Those in trouble come by how long, the others by name:
// a list that jumps cannot be read.
func (s *State) order(v *view) *podOrder {
	o := &s.list
	second := v.now / int64(250*time.Millisecond)
	if o.version == s.version && o.at == v.at && o.second == second && o.pod == s.pod && o.rows != nil {
		return o
	}
	o.version, o.at, o.second, o.pod, o.rows, o.counts = s.version, v.at, second, s.pod, o.rows[:0], [PodGone + 1]int{}
	for i := range s.pods {
		p := v.pod(i)
		why := s.asideOf(i, p, v)
		if i != s.pod && (why == notYet || why == former) {
			continue
		}
		m, from := s.markPod(i, p, v)
		if i > 0 && (why == inList || why == filtered) {
			o.counts[m]++
		}
		if why == inList || i == s.pod {
			o.rows = append(o.rows, podPlace{i, m, from, why})
		}
	}
	slices.SortFunc(o.rows, s.comparePods)
	return o
}

func (s *State) comparePods(a, b podPlace) int {
	if (a.pod == 0) != (b.pod == 0) {
		return cmp.Compare(b.pod, a.pod) // the node comes last
	}
	if a.mark != b.mark {
		return cmp.Compare(a.mark, b.mark)
	}
	if a.mark <= PodRetrying && a.since != b.since {
		return cmp.Compare(a.since, b.since)
	}
	x, y := &s.pods[a.pod].entity, &s.pods[b.pod].entity
	return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name), cmp.Compare(a.pod, b.pod))
}

// selects tells whether the filter selects a pod: by its name, or by the error
// of its last turn.
func (s *State) selects(i int, p *podNow) bool {
	err, _ := s.lastError(p)
	return s.filter.MatchPod(&s.pods[i].entity, err)
}

// podRow puts a pod into words.
func (s *State) podRow(pp podPlace, v *view) PodRow {
	p, now := s.pods[pp.pod], v.pod(pp.pod)
	r := PodRow{
		Key: PodKey(pp.pod), Namespace: p.entity.Namespace, Name: p.entity.Name, UID: p.entity.UID,
		Mark: pp.mark, Word: s.lang.Say(markWords[pp.mark]), For: since(pp.since, v.now),
	}
	switch {
	case pp.pod == 0:
		r.Word, r.For = s.lang.Say(nodeWord), 0
		return r
	case now.refused && pp.mark == PodDone:
		r.Word = s.lang.Say(refusedWord)
	case now.deleting && (pp.mark == PodWorking || s.lingers(now)) && pp.mark >= PodWorking:
		r.Word = s.lang.Say(endingWord)
	}
	if pp.mark == PodWorking && now.at != none {
		r.Where = tail(s.steps.at(now.step).name)
	}
	if pp.mark == PodHeld {
		r.Left, _ = s.holdEnds(pp.pod, now, v)
		r.Where = tail(s.heldStep(now))
	}
	if pp.mark <= PodRetrying || now.refused {
		r.Line = s.trouble(pp, now, v)
	}
	if names := s.finalizers(now); names != "" && pp.mark == PodWaiting && s.lingers(now) {
		r.Line = s.lang.sayf(text("waits for finalizers: %s", "等待 finalizer 移除：%s"), names)
	}
	if pp.aside != inList {
		r.Line = s.lang.Say(asideWords[pp.aside])
	}
	return r
}

// tail is a step's name without its stage.
func tail(step string) string { return step[strings.IndexByte(step, '.')+1:] }

// podList gives the rows that fit.
func (s *State) podList(rows int, v *view) PodList {
	o := s.order(v)
	at := slices.IndexFunc(o.rows, func(p podPlace) bool { return p.pod == s.pod })
	l := PodList{Total: len(o.rows), Cursor: none}
	s.podTop = window(s.podTop, at, rows, len(o.rows), 1)
	l.Top = s.podTop
	for i := l.Top; i < min(l.Top+rows, len(o.rows)); i++ {
		l.Rows = append(l.Rows, s.podRow(o.rows[i], v))
		if i == at {
			l.Cursor = i - l.Top
		}
	}
	if !slices.ContainsFunc(o.rows, func(p podPlace) bool { return p.pod != 0 && p.aside == inList }) {
		l.Empty = s.lang.Say(text("No pod yet. Pods appear as soon as the kubelet does something about them.",
			"还没有 Pod。kubelet 一开始处理某个 Pod，它就会出现在这里。"))
		if s.filter != nil {
			l.Empty = s.lang.Say(text("No pod matches the filter.", "没有 Pod 符合过滤条件。"))
		}
	}
	return l
}

// usualMargin is how many rows are seen around the selected one, if there are.
const usualMargin = 3

// window moves the first row that is shown so that the selected one is seen,
// with some rows around it.
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

// PodsNamed is all pods, for a palette: by what they are doing, worst first.
func (s *State) PodsNamed() []PodRow {
	v := s.view()
	var out []PodRow
	for _, pp := range s.order(v).rows {
		out = append(out, s.podRow(pp, v))
	}
	return out
}
