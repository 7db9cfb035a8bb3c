package tui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/view"
)

// busyCluster is a test's cluster, in which pods come, are held, fail and go.
type busyCluster struct {
	*desk
	pods  []*agentpb.Pod
	spans map[string]uint64 // the worker's open turn, by uid
	made  uint32
}

func newBusyCluster(t *testing.T, o Options) *busyCluster {
	w := newWorld()
	d := newDesk(t, w, o)
	d.m.offered = true
	c := &busyCluster{desk: d, spans: map[string]uint64{}}
	d.live()
	if _, err := d.m.control.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{}, Step: "cri.RunPodSandbox"}); err != nil {
		t.Fatal(err)
	}
	d.w.calls = nil
	for range 3 {
		c.create()
	}
	return c
}

// pod makes a pod. Every third pod has the name of an earlier one, as in a StatefulSet.
func (c *busyCluster) pod() *agentpb.Pod {
	c.made++
	name := fmt.Sprintf("web-%d", c.made)
	if c.made%3 == 0 {
		name = fmt.Sprintf("web-%d", c.made-1)
	}
	return &agentpb.Pod{Id: c.made, Namespace: "default", Name: name, Uid: fmt.Sprintf("u-%d", c.made)}
}

func (c *busyCluster) emit(p *agentpb.Pod, events ...[]byte) {
	c.deliver(session.News{Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{p}, Events: events}}})
}

func (c *busyCluster) create() {
	p := c.pod()
	c.pods = append(c.pods, p)
	c.w.spans += 10
	c.spans[p.Uid] = c.w.spans
	c.emit(p, c.w.event(agentpb.Kind_ENTER, "sync.pod", p, c.w.spans, 0, eventtest.Field("updateType", "create")))
}

// hold lets a pod come to one of the person's breakpoints.
func (c *busyCluster) hold(p *agentpb.Pod) {
	c.w.last++
	c.w.holds = append(c.w.holds, &agentpb.HoldInfo{
		Id: c.w.last, Pod: p, Step: "cri.RunPodSandbox", On: "enter", Cause: agentpb.Cause_CAUSE_BREAKPOINT, Breakpoint: 1, Ends: durationpb.New(time.Duration(c.w.last) * time.Second), EndsBy: agentpb.EndsByLease,
		Since: timestamppb.New(c.now),
	})
	c.poll()
}

func (c *busyCluster) release(i int) {
	c.w.holds = slices.Delete(slices.Clone(c.w.holds), i, i+1)
	c.poll()
}

func (c *busyCluster) poll() {
	p := &session.Poll{At: c.now, Breaks: c.w.points}
	for _, pod := range c.pods {
		p.Pods = append(p.Pods, &agentpb.PodState{Pod: pod, Phase: "Pending"})
	}
	n := c.w.heldNow(c.now)
	n.Poll = p
	c.deliver(n)
}

// happens makes one thing happen without a key or a click.
func (c *busyCluster) happens(r *rand.Rand) string {
	p := c.pods[r.IntN(len(c.pods))]
	c.now = c.now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
	failed := func(raw []byte) []byte {
		e := eventtest.Decode(c.t, raw)
		e.Error = "no such image"
		return eventtest.Encode(e)
	}
	turn := func(kind agentpb.Kind, fields ...*agentpb.Field) []byte {
		return c.w.event(kind, "worker.turn", p, c.spans[p.Uid]+1, 0, fields...)
	}
	switch r.IntN(13) {
	case 0:
		c.create()
		return "a pod is created"
	case 1, 2:
		c.hold(p)
		return "a pod is held"
	case 3:
		if len(c.w.holds) > 0 {
			c.release(r.IntN(len(c.w.holds)))
		}
		return "a pod is let go"
	case 4:
		c.emit(p, turn(agentpb.Kind_ENTER), failed(turn(agentpb.Kind_EXIT)))
		return "a sync fails"
	case 5:
		c.emit(p, c.w.event(agentpb.Kind_EXIT, "worker.cterminated", p, c.spans[p.Uid]+2, 0))
		return "a pod ends"
	case 6:
		c.emit(p, c.w.event(agentpb.Kind_EXIT, "loop.remove", p, c.spans[p.Uid]+3, 0))
		return "a pod is gone"
	case 7:
		c.send(tickMsg{})
		return "a second passes"
	case 8:
		h := &agentpb.HoldInfo{Id: c.w.last + 1, Pod: p, Step: "sync.pod", On: "enter", Cause: agentpb.Cause_CAUSE_STEP, Ends: durationpb.New(time.Minute), EndsBy: agentpb.EndsByLease}
		c.w.last++
		c.w.holds = append(slices.DeleteFunc(slices.Clone(c.w.holds), func(o *agentpb.HoldInfo) bool { return o.Pod == p }), h)
		c.send(heldMsg{of: c.m.pending, hold: h})
		return "a pod that stepped has arrived"
	case 9:
		for _, msg := range c.waits {
			c.send(msg)
		}
		c.waits = nil
		return "what was waited for has come"
	case 10:
		c.deliver(session.News{Link: &session.LinkNews{Link: screen.LinkReconnecting, Why: errors.New("the agent has ended"), Retry: c.now.Add(time.Second)}})
		return "the agent is gone"
	case 11:
		c.deliver(session.News{Info: c.w.info, Link: &session.LinkNews{Link: screen.LinkLive}, CaughtUp: true})
		return "the agent is back"
	default:
		info := proto.CloneOf(c.w.info)
		info.Pid++
		c.w.info = info
		c.deliver(session.News{Info: info, Link: &session.LinkNews{Link: screen.LinkLive}, CaughtUp: true})
		return "another agent is there"
	}
}

// TestHeldPodsKeepTheirPlaces: a pod that is stepped stays where it is in the list.
func TestHeldPodsKeepTheirPlaces(t *testing.T) {
	c := newBusyCluster(t, Options{})
	c.hold(c.pods[1])
	c.now = c.now.Add(time.Second)
	c.hold(c.pods[0])
	places := func() (names []string) {
		for _, r := range c.m.screen().Pods.Rows[:2] {
			if r.Mark != life.Held {
				t.Errorf("%s is %v", r.Name, r.Mark)
			}
			names = append(names, r.Name)
		}
		return names
	}
	want := places()
	for range 2 {
		c.now = c.now.Add(time.Second)
		p := c.w.holds[0].Pod
		c.release(0)
		c.hold(p)
		if got := places(); !slices.Equal(got, want) {
			t.Errorf("%s was stepped: the list is %q, and was %q", p.Name, got, want)
		}
	}
}

// TestSelectionStays: whatever happens, only a key or a click selects another pod. The next key acts on the pod that
// is seen as selected.
func TestSelectionStays(t *testing.T) {
	ways := map[string]struct {
		o    Options
		keys []string
	}{
		"live":           {},
		"in the story":   {keys: []string{"j", "enter"}},
		"the node":       {keys: []string{"G"}},
		"frozen":         {keys: []string{"j", "f"}},
		"filtered":       {keys: []string{"j", "/", "p", "o", "d", "=", "x", "enter"}},
		"only errors":    {o: Options{Filter: "err"}, keys: []string{"k"}},
		"timeline":       {keys: []string{"j", "t", "m"}},
		"events":         {keys: []string{"j", "e"}},
		"breakpoints":    {keys: []string{"j", "B"}},
		"reading help":   {keys: []string{"j", "?"}},
		"typing":         {keys: []string{"j", "/", "e"}},
		"in a walk":      {keys: []string{"j", "T", "enter"}},
		"a dialog":       {keys: []string{"j", "b"}},
		"after J":        {keys: []string{"j", "J"}},
		"after stepping": {keys: []string{"H", "right", "enter", "s", "j"}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				c := newBusyCluster(t, way.o)
				c.hold(c.pods[1])
				c.press(way.keys...)
				c.staysAs(rand.New(rand.NewPCG(seed, 0)), 250)
			}
		})
	}
}

func (c *busyCluster) staysAs(r *rand.Rand, events int) {
	c.t.Helper()
	want := c.m.selectedUID() // empty for the node
	var story []string
	for range events {
		story = append(story, c.happens(r))
		if got := c.m.selectedUID(); got != want {
			c.t.Fatalf("%s was selected, %s is, because %s", want, got, strings.Join(story[max(0, len(story)-4):], ", "))
		}
		s := c.m.screen()
		if s.Pods.Cursor < 0 || s.Pods.Rows[s.Pods.Cursor].UID != want {
			c.t.Fatalf("%s is selected and not shown as such after %q:\n%s", want, story[len(story)-1], c.look())
		}
		if h := c.m.heldHere(); h != nil && h.Pod.Uid != want {
			c.t.Fatalf("a key would move %s, and %s is selected", h.Pod.Uid, want)
		}
		if s.Story() != nil && s.Story().Pod.UID != want {
			c.t.Fatalf("the story is that of %s, and %s is selected", s.Story().Pod.UID, want)
		}
	}
}

// TestSelectionStaysInReplay: the selection stays while a trace file goes to and fro, even to before the selected
// pod was there.
func TestSelectionStaysInReplay(t *testing.T) {
	w := newWorld()
	w.file = "x.podstep"
	d := newDesk(t, w, Options{})
	d.deliver(session.News{Info: w.info, Batches: []*agentpb.Batch{w.creation(web), w.creation(hello)}, CaughtUp: true})
	d.m.state.SelectPodNamed("default", "hello")
	for _, keys := range [][]string{{"0"}, {"5"}, {"$"}, {","}, {".", "."}, {"W"}, {"E"}, {"space"}} {
		d.press(keys...)
		if got := d.m.selectedUID(); got != "u-hello" {
			t.Fatalf("after %q %s is selected", keys, got)
		}
		if s := d.m.screen(); s.Pods.Cursor < 0 || s.Pods.Rows[s.Pods.Cursor].UID != "u-hello" {
			t.Errorf("after %q the selected pod is not shown:\n%s", keys, d.look())
		}
	}
	d.press("0").sees("not there yet")
}

// twoPods is a desk with web, which is selected, and hello.
func twoPods(t *testing.T) *desk {
	t.Helper()
	w := newWorld()
	d := newDesk(t, w, Options{})
	d.m.offered = true
	d.live(w.creation(web), w.creation(hello))
	d.m.state.SelectPodNamed("default", "web")
	return d
}

// TestFilteredOut: the selected pod stays when the filter leaves it out, with a word that says so. The person can
// move on from there.
func TestFilteredOut(t *testing.T) {
	d := twoPods(t)
	d.m.state.SetFocus(screen.PanePods)
	d.press("/").write("pod=hello").press("enter").sees("outside the filter")
	if got := d.m.selectedUID(); got != "u-web" {
		t.Fatalf("%s is selected", got)
	}
	d.press("k").seesNot("outside the filter")
	if got := d.m.selectedUID(); got != "u-hello" {
		t.Errorf("k went to %s", got)
	}
	d.press("/", "ctrl+u").write("pod=nosuch").press("enter").sees("No pod matches the filter", "outside the filter")
}

// TestFormerPodStays: the pod stays selected, and no key acts on it.
func TestFormerPodStays(t *testing.T) {
	d := twoPods(t)
	w := d.w
	info := proto.CloneOf(w.info)
	info.Pid = 7
	w.info, w.seq = info, 0
	d.deliver(session.News{Info: info, Link: &session.LinkNews{Link: screen.LinkLive}, CaughtUp: true})
	d.deliver(session.News{Poll: &session.Poll{At: d.now}})
	d.sees("0 pods", "The agent that runs now does not know web")
	if got := d.m.selectedUID(); got != "u-web" {
		t.Errorf("%s is selected", got)
	}
	d.press("H").sees("the pod is gone").called()
}

// TestBreakpointHits: the screen reports a pod that comes to one of the person's breakpoints. The keys still act on
// the selected pod.
func TestBreakpointHits(t *testing.T) {
	d := twoPods(t)
	w := d.w
	d.press("b", "ctrl+u").write("cri.RunPodSandbox").press("down", "down", "down", "down", "down", "enter").called("break default/web cri.RunPodSandbox")
	d.m.state.SelectPodNamed("default", "web")
	d.now = d.now.Add(time.Minute)
	d.send(tickMsg{})
	w.held(1, "cri.RunPodSandbox").Pod = hello
	d.poll()
	d.sees("default/hello is held; J goes there", "not selected: default/hello")
	if got := d.m.selectedUID(); got != "u-web" {
		t.Fatalf("%s is selected", got)
	}
	d.press("c").called().sees("the selected pod is not held")
	d.press("J", "c").called("continue u-hello")
}

// TestNextHeld: J goes through the held pods and round. The banner prefers the selected pod, and the footer says
// which pod the keys move.
func TestNextHeld(t *testing.T) {
	c := newBusyCluster(t, Options{})
	first, second, third := c.pods[0], c.pods[1], c.pods[2]
	for _, p := range []*agentpb.Pod{third, first, second} {
		c.hold(p)
	}
	other := c.pod()
	c.pods = append(c.pods, other)
	c.poll()
	c.m.state.SelectPodOf(other.Uid)
	// The first hold ends soonest: the banner names its pod, and J goes there.
	c.press("L", "L").sees("HELD not selected: default/"+third.Name+" before", "and 2 others", "J to "+third.Name, "R let all 3 go")
	for _, p := range []*agentpb.Pod{third, first, second, third, first} {
		c.press("J")
		if got := c.m.selectedUID(); got != p.Uid {
			t.Fatalf("J went to %s, want %s", got, p.Uid)
		}
		c.sees("HELD default/"+p.Name+" before", "and 2 others", "default/"+p.Name+": c let go s step")
	}
	c.press("c").called("continue " + first.Uid)
}

// TestWhomKeysMove: every action that moves a pod names it in the footer, in the
// palette, and on a small screen.
func TestWhomKeysMove(t *testing.T) {
	d := started(t)
	d.sees("default/web: H hold")
	d.press("H", "right", "enter").called("hold web")
	d.sees("default/web: c let go s step o over")
	d.press(":").write("step into").sees("Step into the next call · default/web")
	d.press("esc")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.sees("default/web: c let go s step")
	d.send(tea.WindowSizeMsg{Width: 40, Height: 10})
	d.sees("default/web: c let go")
	d.press("u").sees("web until step")
	for i := range actions {
		a := &actions[i]
		if a.group == groupStep && a.moves == nil || (a.id == "hold.pod" || a.id == "hold.release") && a.moves == nil {
			t.Errorf("%s does not say whom it moves", a.id)
		}
	}
}

// TestArrivesElsewhere: a person who has gone to another pod, while one was on its way, is left there.
func TestArrivesElsewhere(t *testing.T) {
	d := twoPods(t)
	d.press("H", "right", "enter")
	d.park = true
	d.press("i")
	d.m.state.SelectPodNamed("default", "hello")
	d.unpark()
	if got := d.m.selectedUID(); got != "u-hello" {
		t.Errorf("%s is selected", got)
	}
	d.sees("default/web is held; J goes there")
}

// TestClickWhatIsSeen: a click selects what was drawn at its place, not what has come there since.
func TestClickWhatIsSeen(t *testing.T) {
	c := newBusyCluster(t, Options{})
	c.look()
	y := slices.IndexFunc(strings.Split(c.look(), "\n"), func(l string) bool {
		list, _, _ := strings.Cut(l, "│")
		return strings.Contains(list, " "+c.pods[1].Name+" ")
	})
	if hit, ok := view.Hit(c.m.frame.drawn, c.m.frame.styles, 3, y); !ok || hit.Kind != view.OnPod {
		t.Fatalf("line %d is no pod", y)
	}
	seen, _ := view.Hit(c.m.frame.drawn, c.m.frame.styles, 3, y)
	c.hold(c.pods[2]) // the list has a new order, which is not drawn yet
	c.send(tea.MouseClickMsg{X: 3, Y: y, Button: tea.MouseLeft})
	if key, _, _ := c.m.state.Selected(); key != seen.Pod {
		t.Errorf("pod %d was seen there, %d is selected", seen.Pod, key)
	}
}

// TestBreakpointStaysSelected: x removes the breakpoint that is seen as selected, whatever has come and gone since.
// If that one is gone, x removes none.
func TestBreakpointStaysSelected(t *testing.T) {
	d := started(t)
	for i := range 3 {
		d.w.points = append(d.w.points, &agentpb.Breakpoint{Id: uint32(i + 1), Spec: &agentpb.AddBreakpointRequest{Step: fmt.Sprintf("cri.%d", i+1)}})
	}
	d.poll()
	d.press("B", "j")
	at := func() uint32 { id, _ := d.m.selectedBreak(); return id }
	if at() != 2 {
		t.Fatalf("breakpoint %d is selected", at())
	}
	d.w.points = d.w.points[1:] // the first has run out
	d.poll()
	if at() != 2 {
		t.Errorf("breakpoint %d is selected, 2 was", at())
	}
	d.w.points = d.w.points[1:]
	d.poll()
	if at() != 0 {
		t.Errorf("breakpoint %d is selected; the one that was is gone", at())
	}
	d.press("x").called().sees("no breakpoint is selected")
	d.press("j", "x").called("remove")
}

// TestWalkLeavesSelection: after a walk's key, the place that the walk comes to is selected. A person who has gone
// to another pod since is left there.
func TestWalkLeavesSelection(t *testing.T) {
	for _, strays := range []bool{false, true} {
		d := walking(t)
		d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(web)}})
		d.m.state.SetFocus(screen.PanePods)
		d.press("n", "n")
		want := "u-hello"
		if strays {
			d.press("G")
			want = "" // the node
		}
		d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
		d.sees("They are there.")
		if got := d.m.selectedUID(); got != want {
			t.Errorf("strayed %v: %s is selected, want %s", strays, got, want)
		}
		if strays {
			d.sees("the walk has come to default/hello")
		}
		d.press("n")
		d.helloHeld(1)
		d.poll()
		if got := d.m.selectedUID(); got != "u-hello" {
			t.Errorf("the walk's key was pressed, and %s is selected", got)
		}
	}
}

// TestFilterWithError: a filter with an error is not applied, and neither is the part that was typed before the
// error.
func TestFilterWithError(t *testing.T) {
	d := twoPods(t)
	d.press("/").write("err").press("enter")
	d.press("/", "ctrl+u").write("err pod=s13*").press("enter").sees("column 9")
	if d.m.filter != "err" {
		t.Errorf("the filter is %q", d.m.filter)
	}
}

// TestBeginsAtPod: the screen goes to the pod that it was opened at, also if that pod comes later. It does not when the
// person has gone to another one meanwhile.
func TestBeginsAtPod(t *testing.T) {
	w := newWorld()
	d := newDesk(t, w, Options{Pod: &PodName{"default", "hello"}})
	d.m.offered = true
	d.live(w.creation(web))
	d.deliver(session.News{Batches: []*agentpb.Batch{w.creation(hello)}})
	if got := d.m.selectedUID(); got != "u-hello" || d.m.opts.Pod != nil {
		t.Errorf("%s is selected", got)
	}
	d = newDesk(t, w, Options{Pod: &PodName{"default", "later"}})
	d.m.offered = true
	d.live(w.creation(web), w.creation(hello))
	d.m.state.SetFocus(screen.PanePods)
	for before := d.m.selectedUID(); d.m.selectedUID() == before; {
		d.press("k")
		if d.m.selectedUID() == before {
			d.press("j")
		}
	}
	if d.m.opts.Pod != nil {
		t.Error("the screen would go to another pod than that of the person")
	}
}
