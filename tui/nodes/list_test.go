package nodes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

var now = time.Unix(1_800_000_000, 0)

func pod(name, state string) *agentpb.PodState {
	namespace, _, _ := strings.Cut(name, "/")
	return &agentpb.PodState{
		Pod: &agentpb.Pod{Namespace: namespace, Name: strings.TrimPrefix(name, namespace+"/"), Uid: "u-" + name}, State: state, Step: "sync.pod",
		Since: timestamppb.New(now.Add(-5 * time.Second)),
	}
}

// three are three nodes: one that answers, one that is lost, and one that has not answered yet.
func three() []fleet.Status {
	about := &agentpb.InfoResponse{KubeletVersion: "v1.36.3", Version: "v0.0.9"}
	return []fleet.Status{
		{Index: 0, Name: "one", State: fleet.Live, About: about, Pods: []*agentpb.PodState{pod("shop/web", "running"), pod("shop/db", "stuck")}, At: now, Since: now},
		{
			Index: 1, Name: "two", State: fleet.Gone, About: about, Pods: []*agentpb.PodState{pod("shop/cart", "held"), pod("log/agent", "running")},
			At: now.Add(-time.Minute), Since: now.Add(-time.Minute), Why: reason.New("nobody listens", "无人监听"),
		},
		{Index: 2, Name: "three", Place: "/run/three.sock", Since: now.Add(-3 * time.Second)},
	}
}

// drawn returns the rows as text, the selected one with a sign.
func drawn(l *List, height int) (lines []string) {
	n := l.Screen(height, now)
	for i, r := range n.Rows {
		sign := " "
		if i == n.Cursor {
			sign = ">"
		}
		if !r.Head {
			sign += "  "
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s%s | %s | %s", sign, r.Name, r.Where, r.State), " |"))
	}
	return lines
}

func check(t *testing.T, l *List, want ...string) {
	t.Helper()
	if got := drawn(l, 20); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGroups: the pods are grouped by nodes or by namespaces, the worst first, and a node that does not answer has a row
// with the reason in both.
func TestGroups(t *testing.T) {
	l := New(words.English)
	l.Set(three())
	check(t, l,
		">one | kubelet v1.36.3, agent v0.0.9, this podstep (devel) | 2 pods, 1 stuck",
		"   shop/db | sync.pod | stuck 5 s",
		"   shop/web | sync.pod | running 5 s",
		" two | nobody listens | for 1m",
		"   shop/cart | sync.pod | seen 1m ago",
		"   log/agent | sync.pod | seen 1m ago",
		" three | podstep connects for 3 s: /run/three.sock")
	if title := l.Screen(20, now).Title; title != "3 nodes, 4 pods; not reached yet: 1; without answer: 1" {
		t.Errorf("the title is %q", title)
	}
	l.Move(1)
	l.ToggleGroups()
	check(t, l,
		" two | nobody listens | for 1m",
		" three | podstep connects for 3 s: /run/three.sock",
		" log",
		"   log/agent | two  sync.pod | seen 1m ago",
		" shop",
		"   shop/cart | two  sync.pod | seen 1m ago",
		">  shop/db | one  sync.pod | stuck 5 s",
		"   shop/web | one  sync.pod | running 5 s")
}

// TestNodeless: pods without a node have a group of their own, with why, until a node has them.
func TestNodeless(t *testing.T) {
	l := New(words.English)
	all := three()[:1]
	l.Set(all)
	l.Move(1)
	waits := func(name string) *causes.Report {
		return &causes.Report{Pod: evidence.Name{Namespace: "shop", Name: name, UID: "u-shop/" + name}, State: life.Stuck, Since: now.Add(-6 * time.Minute)}
	}
	l.SetUnscheduled([]*causes.Report{waits("new"), waits("large")})
	check(t, l,
		" no node |  | 2 pods",
		"   shop/large |  | stuck 6m",
		"   shop/new |  | stuck 6m",
		" one | kubelet v1.36.3, agent v0.0.9, this podstep (devel) | 2 pods, 1 stuck",
		">  shop/db | sync.pod | stuck 5 s",
		"   shop/web | sync.pod | running 5 s")
	if title := l.Screen(20, now).Title; title != "1 nodes, 2 pods; without a node: 2" {
		t.Errorf("the title is %q", title)
	}
	l.ToggleGroups()
	check(t, l,
		" shop",
		">  shop/db | one  sync.pod | stuck 5 s",
		"   shop/large | no node | stuck 6m",
		"   shop/new | no node | stuck 6m",
		"   shop/web | one  sync.pod | running 5 s")
	l.ToggleGroups()
	l.Filter("LARGE")
	l.Move(-10)
	if _, _, ok := l.Selected(); ok {
		t.Error("the head of the pods without a node is a node")
	}
	l.Move(1)
	if node, p, ok := l.Selected(); !ok || node != None || p.GetName() != "large" {
		t.Errorf("selected is %v of node %d", p, node)
	}
	l.Filter("")
	all = three()[:1]
	all[0].Pods, all[0].At = append(all[0].Pods, pod("shop/large", "working")), now.Add(1)
	l.Set(all)
	check(t, l,
		" no node |  | 1 pod",
		"   shop/new |  | stuck 6m",
		" one | kubelet v1.36.3, agent v0.0.9, this podstep (devel) | 3 pods, 1 stuck",
		"   shop/db | sync.pod | stuck 5 s",
		">  shop/large | sync.pod | working 5 s",
		"   shop/web | sync.pod | running 5 s")
}

// TestSelectionStays: the selected pod stays selected when other pods come and go, and when it moves to another place.
func TestSelectionStays(t *testing.T) {
	l := New(words.English)
	all := three()
	l.Set(all)
	l.Move(2)
	all = three()
	all[0].Pods = []*agentpb.PodState{pod("shop/new", "running"), pod("shop/web", "held"), pod("shop/db", "stuck")}
	all[0].At = now.Add(1)
	l.Set(all)
	node, p, ok := l.Selected()
	if !ok || node != 0 || p.GetName() != "web" {
		t.Errorf("selected is %v of node %d", p, node)
	}
	if got := drawn(l, 20)[1]; got != ">  shop/web | sync.pod | held 5 s" {
		t.Errorf("the first pod is %q", got)
	}
	all[0].Pods, all[0].At = nil, now.Add(2)
	l.Set(all)
	if _, _, ok := l.Selected(); !ok {
		t.Error("nothing is selected after the selected pod has gone")
	}
}

// TestFilter: the filter takes pods away, and no node that does not answer.
func TestFilter(t *testing.T) {
	l := New(words.English)
	l.Set(three())
	l.Filter("WEB")
	check(t, l,
		">one | kubelet v1.36.3, agent v0.0.9, this podstep (devel) | 2 pods, 1 stuck",
		"   shop/web | sync.pod | running 5 s",
		" two | nobody listens | for 1m",
		" three | podstep connects for 3 s: /run/three.sock")
	l.Filter("no such pod")
	if n := l.Screen(20, now); n.Empty == "" || !strings.HasSuffix(n.Title, "filter no such pod: 0 pods") {
		t.Errorf("nothing fits, and the list says %q, %q", n.Empty, n.Title)
	}
	l.Filter("")
	if got := len(drawn(l, 20)); got != 7 {
		t.Errorf("without a filter there are %d rows", got)
	}
}

// TestScrolls: the selected row is in view, and only rows in view are made.
func TestScrolls(t *testing.T) {
	l := New(words.English)
	all := []fleet.Status{{Name: "one", State: fleet.Live, About: &agentpb.InfoResponse{}}}
	for i := range 5000 {
		all[0].Pods = append(all[0].Pods, pod(fmt.Sprintf("shop/web-%04d", i), "running"))
	}
	l.Set(all)
	for _, c := range []struct{ by, top, cursor int }{{0, 0, 0}, {9, 0, 9}, {1, 1, 9}, {-5, 1, 4}, {1 << 20, 4991, 9}, {-1 << 20, 0, 0}} {
		l.Move(c.by)
		if n := l.Screen(10, now); len(n.Rows) != 10 || n.Top != c.top || n.Cursor != c.cursor || n.Total != 5001 {
			t.Errorf("after %d rows: %d rows from %d on, the cursor at %d", c.by, len(n.Rows), n.Top, n.Cursor)
		}
	}
}

// TestForeignText: what a node sends reaches no terminal as it is.
func TestForeignText(t *testing.T) {
	l := New(words.Chinese)
	all := three()
	all[0].Name, all[0].About.KubeletVersion = "ev\x1b[2Jil", "v1\u202e"
	all[0].Pods[0] = pod("a\x1bb/c\u009bd", "stuck")
	all[0].Pods[0].Error = "e\x1b]0;f"
	all[1].Why = errors.New("g\x07h")
	l.Set(all)
	for range 2 {
		for _, r := range l.Screen(20, now).Rows {
			for _, text := range []string{r.Name, r.Where, r.State} {
				if !words.Printable([]byte(text)) {
					t.Errorf("%q", text)
				}
			}
		}
		l.ToggleGroups()
	}
}

// TestEmpty: a list without nodes draws and moves.
func TestEmpty(t *testing.T) {
	l := New(words.English)
	l.Move(1)
	l.ToggleGroups()
	if _, _, ok := l.Selected(); ok || len(l.Screen(0, now).Rows) != 0 {
		t.Error("a list without nodes has a row")
	}
}
