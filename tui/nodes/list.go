// Package nodes is the list of the pods of several nodes: which rows it has, in which order, and which one is selected. It
// makes a screen.Nodes of them. Package view draws it.
package nodes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// List is the list. It is not safe for use by several goroutines.
type List struct {
	lang words.Lang
	all  []fleet.Status
	// byNamespace groups the pods by their namespaces, not by their nodes.
	byNamespace bool
	filter      string
	rows        []row
	// shown is how many pods the rows have.
	shown  int
	cursor int
	top    int
	// nodeless are the pods that have no node, the worst first; waiting are those of them that the rows have.
	nodeless, waiting []row
	// kept has the pods of nodes, by their indexes, as they were sorted last.
	kept map[int]sorted
}

// row is the head of a group, or a pod.
type row struct {
	node      int               // index of the node, or None: of a pod without a node, and of the head of a group of others
	namespace string            // "": the head of the pods without a node
	pod       *agentpb.PodState // nil: a head
	state     life.State
	why       *causes.Report // why the pod has no node
}

// None stands in the place of the index of a node, for a pod that has none.
const None = -1

// New returns a list without nodes.
func New(lang words.Lang) *List { return &List{lang: lang, kept: map[int]sorted{}} }

// SetLang changes the language.
func (l *List) SetLang(lang words.Lang) { l.lang = lang }

// Set takes what is known of the nodes. The selected row stays selected as long as it is there.
func (l *List) Set(all []fleet.Status) {
	was := l.selected()
	l.all = all
	l.arrange(was)
}

// SetUnscheduled sets the pods that have no node, and why.
func (l *List) SetUnscheduled(all []*causes.Report) {
	was := l.selected()
	l.nodeless = nil
	for _, r := range all {
		pod := &agentpb.Pod{Namespace: r.Pod.Namespace, Name: r.Pod.Name, Uid: r.Pod.UID}
		l.nodeless = append(l.nodeless, row{None, r.Pod.Namespace, &agentpb.PodState{Pod: pod, State: r.Word(), Since: timestamppb.New(r.Since)}, r.State, r})
	}
	slices.SortFunc(l.nodeless, worst)
	l.arrange(was)
}

// ToggleGroups groups by namespaces in place of nodes, or the other way round.
func (l *List) ToggleGroups() {
	was := l.selected()
	l.byNamespace = !l.byNamespace
	l.arrange(was)
}

// ByNamespace reports whether the pods are grouped by namespaces.
func (l *List) ByNamespace() bool { return l.byNamespace }

// Filter shows only the pods in whose node, namespace, name or state the text is. Nodes that do not answer stay.
func (l *List) Filter(text string) {
	was := l.selected()
	l.filter = strings.ToLower(text)
	l.arrange(was)
}

// Filtered returns the text of the filter.
func (l *List) Filtered() string { return l.filter }

// Move moves the cursor by some rows, as far as there are any.
func (l *List) Move(by int) { l.cursor = max(0, min(len(l.rows)-1, l.cursor+by)) }

// Selected returns the index of the selected node, and the selected pod, if it is one. The index is None for a pod without
// a node. ok is false if neither is selected.
func (l *List) Selected() (node int, pod *agentpb.Pod, ok bool) {
	r := l.selected()
	if r == nil || r.node == None && r.pod == nil {
		return 0, nil, false
	}
	return r.node, r.pod.GetPod(), true
}

// Node returns what is known of a node.
func (l *List) Node(i int) *fleet.Status { return &l.all[i] }

func (l *List) selected() *row {
	if l.cursor < 0 || l.cursor >= len(l.rows) {
		return nil
	}
	r := l.rows[l.cursor]
	return &r
}

// arrange makes the rows anew, and finds the one that was selected.
func (l *List) arrange(was *row) {
	l.rows, l.shown, l.waiting = l.rows[:0], 0, l.stillNodeless()
	if l.byNamespace {
		l.arrangeNamespaces()
	} else {
		if len(l.waiting) > 0 {
			l.rows = append(l.rows, row{node: None})
			l.add(l.waiting)
		}
		for i := range l.all {
			l.rows = append(l.rows, row{node: i})
			l.add(l.podsOf(i))
		}
	}
	if was != nil {
		if i := slices.IndexFunc(l.rows, was.is); i >= 0 {
			l.cursor = i
		}
	}
	l.Move(0)
}

// arrangeNamespaces puts the nodes that do not answer first, since no namespace shows them.
func (l *List) arrangeNamespaces() {
	by := map[string][]row{}
	for _, r := range l.waiting {
		by[r.namespace] = append(by[r.namespace], r)
	}
	for i := range l.all {
		if !l.all[i].State.Answers() {
			l.rows = append(l.rows, row{node: i})
		}
		for _, r := range l.podsOf(i) {
			by[r.namespace] = append(by[r.namespace], r)
		}
	}
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		l.rows = append(l.rows, row{node: None, namespace: name})
		slices.SortFunc(by[name], worst)
		l.add(by[name])
	}
}

// add adds the pods of a group.
func (l *List) add(pods []row) {
	l.rows = append(l.rows, pods...)
	l.shown += len(pods)
}

func worst(a, b row) int {
	return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod.GetPod().GetName(), b.pod.GetPod().GetName()), cmp.Compare(a.node, b.node))
}

// sorted are the pods of a node that a filter selects, the worst first, as of a time.
type sorted struct {
	at     time.Time
	name   string
	filter string
	pods   []row
}

// podsOf returns the pods of a node that the filter selects, the worst first. Of a hundred nodes most have nothing new.
func (l *List) podsOf(i int) []row {
	node := &l.all[i]
	is := sorted{at: node.At, name: node.Name, filter: l.filter}
	if was := l.kept[i]; was.at.Equal(is.at) && was.name == is.name && was.filter == is.filter {
		return was.pods
	}
	for _, p := range node.Pods {
		state, _ := life.StateNamed(p.GetState())
		if l.matches(node.Name, p) {
			is.pods = append(is.pods, row{node: i, namespace: p.GetPod().GetNamespace(), pod: p, state: state})
		}
	}
	slices.SortFunc(is.pods, worst)
	l.kept[i] = is
	return is.pods
}

// stillNodeless returns the pods that have no node, and that the filter selects. A pod that a node has by now is not among
// them.
func (l *List) stillNodeless() (pods []row) {
	if len(l.nodeless) == 0 {
		return nil
	}
	has := map[string]bool{}
	for _, r := range l.nodeless {
		has[r.pod.GetPod().GetUid()] = false
	}
	for i := range l.all {
		for _, p := range l.all[i].Pods {
			if _, is := has[p.GetPod().GetUid()]; is {
				has[p.GetPod().GetUid()] = true
			}
		}
	}
	for _, r := range l.nodeless {
		if !has[r.pod.GetPod().GetUid()] && l.matches(l.lang.In(noNode), r.pod) {
			pods = append(pods, r)
		}
	}
	return pods
}

// matches reports whether the filter selects a pod of a node.
func (l *List) matches(node string, p *agentpb.PodState) bool {
	if l.filter == "" {
		return true
	}
	for _, text := range []string{node, p.GetPod().GetNamespace() + "/" + p.GetPod().GetName(), p.GetState()} {
		if strings.Contains(strings.ToLower(text), l.filter) {
			return true
		}
	}
	return false
}

// is reports whether two rows are the same one, of two times. A pod may have got a node between them.
func (r *row) is(other row) bool {
	switch {
	case r.pod != nil && other.pod != nil:
		return r.pod.GetPod().GetUid() == other.pod.GetPod().GetUid() && (r.node == other.node || r.why != nil)
	case r.pod != nil || other.pod != nil:
		return false
	}
	return r.node == other.node && (r.node != None || r.namespace == other.namespace)
}

// since returns for how long a pod has been in its state.
func since(p *agentpb.PodState, now time.Time) string {
	if p.GetSince() == nil {
		return ""
	}
	return " " + words.Clock(now.Sub(p.GetSince().AsTime()))
}
