package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// whyAll answers for every pod that is not well.
func whyAll(ctx context.Context, from gather.From, namespace string) (whyAnswer, error) {
	m, err := from.All(ctx, namespace, unwell)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return newManyAnswer(m), nil
}

// unwell reports whether a pod is worth a closer look, by its object alone.
func unwell(s *evidence.Snapshot) bool {
	r := causes.Explain(s)
	return r.State < life.Idle || r.Wrong()
}

// whyOwner answers for an owner and its pods.
func whyOwner(ctx context.Context, from gather.From, kind string, name evidence.Name) (whyAnswer, error) {
	m, err := from.Owner(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	return newManyAnswer(m), nil
}

// whyObject answers for an object that is no pod and owns none, and for its pods that are not well.
func whyObject(ctx context.Context, from gather.From, kind string, name evidence.Name) (whyAnswer, error) {
	m, err := from.Object(ctx, kind, name, unwell)
	if err != nil {
		return nil, err
	}
	return newManyAnswer(m), nil
}

// manyAnswer is the answer for many pods. It joins equal causes; the worst comes first.
type manyAnswer struct {
	groups []group
	looked int
	object *causes.Report // on the object that was asked about; nil: none was
	// stuck counts the pods that are stuck or held, troubled others with which something is wrong, young those on their
	// way, and owners what is in trouble and is no pod.
	stuck, troubled, young, owners int
	unseen                         []evidence.Unseen
	open                           bool // for some pod no cause is certain
	taken                          time.Time
}

// group has the pods with the same cause.
type group struct {
	pods  []groupPod // the one that has had it longest comes first
	first *causes.Finding
}

// groupPod is a pod of a group.
type groupPod struct {
	*causes.Report
	owner string // the topmost, such as deployment/web; empty: it has none
}

// named returns the names of the pods: those of one owner together, as the owner with their number.
func (g *group) named(l words.Lang) (names []string) {
	count, place := map[string]int{}, map[string]int{}
	for _, p := range g.pods {
		key := p.Pod.Namespace + "/" + p.owner
		if n := count[key]; p.owner != "" && n > 0 {
			count[key]++
			names[place[key]] = l.Inf(words.Text("%s (%s, %d pods)", "%s（%s，%d 个 Pod）"), words.Clean(p.Pod.Namespace), words.Clean(p.owner), n+1)
			continue
		}
		count[key]++
		place[key] = len(names)
		names = append(names, words.Clean(p.Pod.String()))
	}
	return names
}

func newManyAnswer(m *gather.Many) *manyAnswer {
	all := append(slices.Clone(m.Pods), m.Owners...)
	a := &manyAnswer{looked: m.Looked, unseen: unseenOfMany(m, all), taken: takenAt(all)}
	byCause := map[string]int{}
	if m.Object != nil {
		a.object = causes.Explain(m.Object)
		a.open = a.object.Open()
		a.unseen = append(slices.Clone(a.unseen), m.Object.Unseen...)
	}
	for _, s := range all {
		r := causes.Explain(s)
		a.open = a.open || r.Open()
		a.count(s, r)
		if len(r.Findings) == 0 || !r.Wrong() && !isOwner(s) {
			continue // of an owner it is said, too, that it wants no pods
		}
		key := sameCause(&r.Findings[0]) + "|" + whose(s, &r.Findings[0])
		i, known := byCause[key]
		if !known {
			i = len(a.groups)
			byCause[key] = i
			a.groups = append(a.groups, group{})
		}
		a.groups[i].pods = append(a.groups[i].pods, groupPod{r, topOwner(s)})
	}
	for i := range a.groups {
		g := &a.groups[i]
		slices.SortStableFunc(g.pods, func(x, y groupPod) int { return x.Since.Compare(y.Since) })
		g.first = &g.pods[0].Findings[0]
	}
	slices.SortStableFunc(a.groups, worse)
	a.groups = byCulprit(a.groups)
	return a
}

// takenAt returns the moment of which an answer is: when the snapshots were taken, which for a recording is its end.
func takenAt(snapshots []*evidence.Snapshot) (at time.Time) {
	for _, s := range snapshots {
		if s.Taken.After(at) {
			at = s.Taken
		}
	}
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// isOwner reports whether a snapshot is of an owner of pods.
func isOwner(s *evidence.Snapshot) bool {
	return s.Best() == nil && s.Story == nil && len(s.Cluster.Owners) > 0
}

// count counts a pod, or an owner.
func (a *manyAnswer) count(s *evidence.Snapshot, r *causes.Report) {
	switch {
	case isOwner(s):
		if r.Wrong() {
			a.owners++
		}
	case r.State <= life.Stuck:
		a.stuck++
	case r.Wrong():
		a.troubled++
	case r.State < life.Idle:
		a.young++
	}
}

// sameCause returns a key that is equal for findings that differ only in the pod, and in what the nearest nodes lack for it.
func sameCause(f *causes.Finding) string {
	plain := *f
	plain.Nearest = probes.Text{}
	return f.Cause.ID + "|" + strings.ReplaceAll(plain.Sentence(words.English), f.Args["pod"], "")
}

// topOwner returns the topmost owner of a pod, such as deployment/web; empty: it has none, or is no pod.
func topOwner(s *evidence.Snapshot) string {
	n := len(s.Cluster.Owners)
	if n == 0 || isOwner(s) {
		return ""
	}
	return strings.ToLower(s.Cluster.Owners[n-1].Kind) + "/" + s.Cluster.Owners[n-1].Name
}

// unseenOfMany returns what could not be seen of all of them, each kind of it once.
func unseenOfMany(m *gather.Many, all []*evidence.Snapshot) []evidence.Unseen {
	out := slices.Clone(m.Unseen)
	place, more := map[string]int{}, map[string]int{}
	for _, s := range all {
		for _, u := range s.Unseen {
			kind, _, _ := strings.Cut(u.What, "/")
			if words, _, ok := strings.Cut(kind, " of "); ok {
				kind = words
			}
			key := fmt.Sprint(u.Source, kind, u.Why)
			if i, known := place[key]; known {
				if out[i].What != u.What {
					more[key]++
				}
				continue
			}
			if slices.Contains(out, u) {
				continue
			}
			place[key] = len(out)
			out = append(out, u)
		}
	}
	for key, n := range more {
		out[place[key]].What += fmt.Sprintf(" (+%d)", n)
	}
	return out
}

// programs are the stages whose causes are those of a program. Two workloads with the same one have two.
var programs = []string{"start", "init", "ready"}

// whose returns the workload that a finding is about, if equal findings of others are not the same: the topmost owner, else
// the pod.
func whose(s *evidence.Snapshot, f *causes.Finding) string {
	if !slices.Contains(programs, f.Cause.Stage()) {
		return ""
	}
	if n := len(s.Cluster.Owners); n > 0 {
		return s.Cluster.Owners[n-1].UID
	}
	if p := s.Best(); p != nil && len(p.OwnerReferences) > 0 {
		return string(p.OwnerReferences[0].UID)
	}
	return s.Name.UID
}

// worse puts groups in order: sure causes before possible ones, those that others suffer from before the rest, then those
// of more pods, then those that have lasted longer.
func worse(x, y group) int {
	sure := func(g group) int {
		if g.first.Confidence == causes.Possible {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(sure(x), sure(y)), cmp.Compare(reachOf(&x), reachOf(&y)), cmp.Compare(len(y.pods), len(x.pods)), x.pods[0].Since.Compare(y.pods[0].Since))
}

// reachOf returns 0 for trouble from which others suffer: that of a node, of a webhook, or of the control plane's own pods.
func reachOf(g *group) int {
	id := g.first.Cause.ID
	if g.first.Cause.Stage() == "node" || strings.Contains(strings.ToLower(id), "webhook") || id == "scheduling.nodesIll" ||
		slices.ContainsFunc(g.pods, func(p groupPod) bool { return p.Pod.Namespace == metav1.NamespaceSystem }) {
		return 0
	}
	return 1
}

// byClass counts the pods of each class of causes, the most first, such as scheduling 12, image 3.
func (a *manyAnswer) byClass() (out []classJSON) {
	for _, g := range a.groups {
		i := slices.IndexFunc(out, func(c classJSON) bool { return c.Class == g.first.Cause.Stage() })
		if i < 0 {
			i = len(out)
			out = append(out, classJSON{Class: g.first.Cause.Stage()})
		}
		out[i].Pods += len(g.pods)
		out[i].Causes++
	}
	slices.SortStableFunc(out, func(x, y classJSON) int { return cmp.Compare(y.Pods, x.Pods) })
	return out
}

// classJSON counts the groups of one class of causes, and their pods, as scripts get it.
type classJSON struct {
	Class  string `json:"class"`
	Pods   int    `json:"pods"`
	Causes int    `json:"causes"`
}

func (a *manyAnswer) wrong() bool {
	return a.object != nil && a.object.Wrong() || slices.ContainsFunc(a.groups, func(g group) bool { return slices.ContainsFunc(g.pods, func(p groupPod) bool { return p.Wrong() }) })
}

func (a *manyAnswer) key() string {
	var b strings.Builder
	if a.object != nil {
		b.WriteString((&oneAnswer{Report: a.object}).key() + ";")
	}
	for _, g := range a.groups {
		fmt.Fprintf(&b, "%s %d;", sameCause(g.first), len(g.pods))
	}
	return b.String()
}

// groupJSON is a group of pods with the same cause, as scripts get it.
type groupJSON struct {
	Pods []evidence.Name `json:"pods"`
	findingJSON
}

// manyJSON is an answer for many pods, as scripts get it.
type manyJSON struct {
	Object   *whyJSON          `json:"object,omitempty"`
	Looked   int               `json:"looked"`
	Stuck    int               `json:"stuck"`
	Troubled int               `json:"troubled"`
	Young    int               `json:"young"`
	Owners   int               `json:"owners"`
	Classes  []classJSON       `json:"classes"`
	Culprits []culpritJSON     `json:"culprits"`
	Causes   []groupJSON       `json:"causes"`
	Unseen   []evidence.Unseen `json:"unseen"`
}

func (a *manyAnswer) print(w io.Writer, f *whyFlags) error {
	l := language(f.lang.value)
	return f.out.print(w, a.data(l), func(w io.Writer) { a.write(w, l) })
}

func (a *manyAnswer) data(l words.Lang) any {
	data := manyJSON{nil, a.looked, a.stuck, a.troubled, a.young, a.owners, append([]classJSON{}, a.byClass()...), append([]culpritJSON{}, culprits(a.groups)...), []groupJSON{}, append([]evidence.Unseen{}, a.unseen...)}
	if a.object != nil {
		of := newWhyJSON(a.object, l)
		data.Object = &of
	}
	for _, g := range a.groups {
		out := groupJSON{findingJSON: newFindingJSON(g.first, a.taken, l)}
		for _, r := range g.pods {
			out.Pods = append(out.Pods, r.Pod)
		}
		data.Causes = append(data.Causes, out)
	}
	return data
}

// maxNamed is how many pods of a group are named.
const maxNamed = 5

func (a *manyAnswer) write(w io.Writer, l words.Lang) {
	if a.object != nil {
		writeFindings(w, a.object, l)
		fmt.Fprintln(w)
	}
	for _, g := range a.groups {
		names := g.named(l)
		if more := len(names) - maxNamed; more > 0 {
			names = append(names[:maxNamed], fmt.Sprintf(l.In(words.Text("and %d more", "还有 %d 个")), more))
		}
		fmt.Fprintf(w, "%s  %s %s\n", strings.Join(names, ", "), stateWord(g.pods[0].Report, l), soLong(l, a.taken.Sub(g.pods[0].Since)))
		fmt.Fprintf(w, "  %s  (%s, %s)\n  %s\n", g.first.Title(l), g.first.Cause.ID, g.first.Confidence.In(l), g.first.Sentence(l))
		if c := g.first.Culprit; c != nil {
			fmt.Fprintln(w, "  "+l.Inf(words.Text("culprit: %s", "祸首：%s"), c.In(l)))
		}
		if next := g.first.Advice(l); len(next) > 0 && next[0].Run != "" {
			fmt.Fprintf(w, "    %s\n", next[0].Run)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, a.summary(l))
	writeUnseen(w, causes.Missed(a.unseen, a.open), l)
}

// summary says how many pods are in which state.
func (a *manyAnswer) summary(l words.Lang) string {
	out := l.Inf(words.Text("%d pods looked at: %d stuck, %d in other trouble, %d on their way; causes: %d.", "看了 %d 个 Pod：%d 个卡住，%d 个有其他问题，%d 个正在启动或停止；原因 %d 种。"),
		a.looked, a.stuck, a.troubled, a.young, len(a.groups))
	if a.owners > 0 {
		out += l.Inf(words.Text(" Beside them, owners of pods in trouble: %d.", "此外有问题的 Pod 所有者：%d 个。"), a.owners)
	}
	var classes []string
	for _, c := range a.byClass() {
		classes = append(classes, fmt.Sprintf("%s %d", c.Class, c.Pods))
	}
	if named := culprits(a.groups); len(named) > 0 {
		out += l.Inf(words.Text(" Culprits: %s.", "祸首：%s。"), culpritNames(named, l))
	}
	if len(a.groups) > 1 {
		out += l.Inf(words.Text(" By class: %s.", "按类别：%s。"), strings.Join(classes, ", "))
	}
	return out
}
