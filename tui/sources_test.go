package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// nodesDesk is a person at a screen of several nodes.
type nodesDesk struct {
	t      *testing.T
	s      *Sources
	end    *ending
	worlds map[int]*world
	all    []fleet.Status
	quit   bool
}

// silentFleet brings nothing by itself.
type silentFleet struct{}

func (silentFleet) Next(context.Context) ([]fleet.Status, error) { return nil, context.Canceled }

// atNodes is a desk with three nodes, each with a pod called web; the last one does not answer.
func atNodes(t *testing.T) *nodesDesk {
	t.Helper()
	d := &nodesDesk{t: t, worlds: map[int]*world{}, end: &ending{cancel: func() {}}}
	now := time.Unix(1e9, 0)
	var sources []Source
	for i := range 3 {
		w := newWorld()
		w.info.Node = fmt.Sprintf("node-%d", i+1)
		d.worlds[i] = w
		sources = append(sources, Source{Open: func(context.Context) (session.Session, Options, error) {
			if w.fail != nil {
				return nil, Options{}, w.fail
			}
			return w, Options{Lang: words.English, Cluster: w}, nil
		}})
		d.all = append(d.all, fleet.Status{
			Index: i, Name: w.info.Node, State: fleet.Live, About: w.info, At: now, Since: now,
			Pods: []*agentpb.PodState{{Pod: web, State: "working", Step: "cri.RunPodSandbox"}},
		})
	}
	d.all[2].State, d.all[2].Why = fleet.Silent, reason.New("no answer from node-3", "node-3 没有回答")
	c := clock{now: func() time.Time { return now }, after: func(time.Duration, tea.Msg) tea.Cmd { return nil }}
	d.s = newSources(t.Context(), sources, silentFleet{}, d.end, Options{Lang: words.English}, c)
	d.run(d.s.Init())
	d.send(tea.WindowSizeMsg{Width: 120, Height: 36})
	d.send(fleetMsg{all: d.all})
	return d
}

func (d *nodesDesk) send(msg tea.Msg) {
	_, cmd := d.s.Update(msg)
	d.run(cmd)
}

func (d *nodesDesk) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case sourceMsg:
		if news, is := msg.msg.(newsMsg); is && news.err != nil {
			return
		}
		if held, is := msg.msg.(heldMsg); is && held.hold != nil {
			d.deliver(msg.source, d.worlds[msg.source].heldNow(time.Unix(1e9, 0)))
		}
		d.send(msg)
	default:
		d.send(msg)
	}
}

func (d *nodesDesk) deliver(source int, n session.News) {
	d.send(sourceMsg{source, newsMsg{news: n}})
}

// live connects the screen of a node with its agent.
func (d *nodesDesk) live(source int) {
	w := d.worlds[source]
	d.s.opened[source].offered = true
	d.deliver(source, session.News{Info: w.info, Link: &session.LinkNews{Link: screen.LinkLive}, Batches: []*agentpb.Batch{w.creation(web)}, CaughtUp: true})
	n := w.heldNow(time.Unix(1e9, 0))
	n.Poll = &session.Poll{Pods: d.all[source].Pods}
	d.deliver(source, n)
}

func (d *nodesDesk) press(keys ...string) *nodesDesk {
	for _, k := range keys {
		d.send(keyPress(k))
	}
	return d
}

func (d *nodesDesk) sees(texts ...string) *nodesDesk {
	d.t.Helper()
	got := ansi.Strip(d.s.View().Content)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			d.t.Fatalf("%q is not on the screen:\n%s", text, got)
		}
	}
	return d
}

// TestNodes: Enter opens the screen of the pod's node with the pod selected, and ctrl+n goes back to all nodes.
func TestNodes(t *testing.T) {
	d := atNodes(t)
	d.sees("3 nodes, 3 pods; without answer: 1", "node-1", "no answer from node-3")
	d.press("down", "down", "down", "enter") // the pod of node-2
	d.live(1)
	d.sees("node-2", "live", "default/web")
	d.press("ctrl+n").sees("3 nodes")
	d.press("enter").sees("node-2", "live")
	d.press("ctrl+n", "home", "enter")
	d.live(0)
	d.sees("node-1", "live")
	if len(d.s.opened) != 2 || len(d.end.sessions) != 2 {
		t.Errorf("%d screens and %d sessions are open, want one for each node that was entered", len(d.s.opened), len(d.end.sessions))
	}
}

// TestNodeless: Enter on a pod without a node opens the screen of a node that answers, with that pod selected: each node's
// screen shows such pods.
func TestNodeless(t *testing.T) {
	d := atNodes(t)
	d.all[0].State = fleet.Gone
	d.send(fleetMsg{all: d.all})
	large := causes.Explain(&evidence.Snapshot{Taken: time.Unix(1e9, 0), Name: evidence.Name{Namespace: "shop", Name: "large", UID: "u-large"}, Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large", UID: "u-large", CreationTimestamp: metav1.NewTime(time.Unix(1e9-600, 0))},
		Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/gate"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}})
	d.send(nodelessMsg{pods: []*causes.Report{large}})
	d.sees("3 nodes, 3 pods; without a node: 1", "no node", "shop/large", "example.com/gate", "stuck 10m")
	d.press("home", "enter").sees("3 nodes") // the head of the group is no node
	d.press("down", "enter")
	d.live(1)
	d.send(sourceMsg{1, nodelessMsg{pods: []*causes.Report{large}}})
	d.sees("node-2", "live")
	if _, p, ok := d.s.opened[1].state.Selected(); !ok || p.Name != "large" {
		t.Errorf("selected is %v", p)
	}
	d.press("ctrl+n")
	for i := range d.all {
		d.all[i].State = fleet.Gone
	}
	d.s.opened = map[int]*Model{}
	d.send(fleetMsg{all: d.all})
	d.press("enter").sees("no node answers")
	d.send(nodelessMsg{err: errors.New("the API server is gone")})
	d.sees("shop/large")
}

// TestNodeUnreached: a node that does not answer has no screen, but a reason; so has one that stops answering meanwhile.
func TestNodeUnreached(t *testing.T) {
	d := atNodes(t)
	d.press("end", "enter").sees("node-3: no answer from node-3", "3 nodes")
	d.worlds[0].fail = errors.New("it is gone")
	d.press("home", "enter").sees("it is gone", "3 nodes")
	d.worlds[0].fail = nil
	d.press("enter")
	d.live(0)
	d.sees("node-1", "live")
}

// TestHoldOnOneNode: a hold goes to the agent of the pod's own node, though the other node has a pod of the same name. It
// lasts while the list is shown, and leaving asks for it.
func TestHoldOnOneNode(t *testing.T) {
	d := atNodes(t)
	d.press("down", "enter")
	d.live(0)
	d.press("ctrl+n", "down", "down", "enter")
	d.live(1)
	d.press("H", "y")
	if got := strings.Join(d.worlds[1].calls, ", "); !strings.Contains(got, "hold web") {
		t.Fatalf("node-2 was asked %q", got)
	}
	d.press("ctrl+n", "q").sees("held pods go on when podstep ends: 1")
	if d.quit {
		t.Fatal("podstep ended without a question")
	}
	d.press("home", "enter").sees("node-1", "live").press("q").sees("held pods go on when podstep ends: 1")
	d.press("x", "q")
	if d.quit {
		t.Fatal("the question was not asked again after another key")
	}
	d.press("q")
	if !d.quit {
		t.Fatal("podstep does not end")
	}
	d.end.release()
	if got := strings.Join(d.worlds[0].calls, ", "); strings.Contains(got, "hold") || strings.Contains(got, "continue") {
		t.Errorf("node-1 was asked %q", got)
	}
	if len(d.end.released) != 1 {
		t.Errorf("released %q", d.end.released)
	}
}

// TestNodesFollowed: while the screen of one node is shown, the others go on.
func TestNodesFollowed(t *testing.T) {
	d := atNodes(t)
	d.press("down", "enter")
	d.live(0)
	d.all[1].Pods, d.all[1].At = []*agentpb.PodState{{Pod: web, State: "stuck", Step: "sync.volumes"}}, time.Unix(1e9, 1)
	d.send(fleetMsg{all: d.all})
	d.sees("node-1", "live").press("ctrl+n").sees("1 stuck", "sync.volumes")
}

// TestNodesKeys: grouping, filtering and the language.
func TestNodesKeys(t *testing.T) {
	d := atNodes(t)
	d.press("g").sees("group by node", "default")
	d.press("g", "/", "n", "o", "d", "e", "-", "2").sees("filter node-2: 1 pod")
	d.press("enter", "esc").sees("3 nodes, 3 pods;")
	d.press("L").sees("3 个节点")
	d.press("L", "/", "x", "esc").sees("3 nodes, 3 pods;")
	d.send(tea.WindowSizeMsg{Width: 20, Height: 3})
	d.press("down", "down", "pgup", "pgdown").sees("3 nodes")
	d.send(tea.WindowSizeMsg{Width: 1, Height: 1})
	d.s.View()
}
